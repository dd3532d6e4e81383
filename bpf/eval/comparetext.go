package eval

import (
	"strings"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file generates comparisons of texts: equality, order, matches with
// patterns, tests for emptiness, and the length of a text. The loops over their
// bytes are in textcompare.go and textmatch.go.

// allocFull evaluates a text to a new place, and fails if the text is longer
// than its place.
func (e *Eval) allocFull(n expr.Node) int16 {
	size := e.Env.Room(n)
	off := e.Code.Alloc(size)
	e.fullText(off, size, n)
	return off
}

// begins evaluates a text, to be compared with the constant s or to see whether it begins with
// s. A text that is longer than its place has its first bytes there, which are enough for a
// short s.
func (e *Eval) begins(x expr.Node, s string) int16 {
	if len(s) >= sent.LongFront {
		return e.allocFull(x)
	}
	return e.AllocText(x)
}

// textTruth jumps to l if "n is not empty" is want.
func (e *Eval) textTruth(n expr.Node, want bool, l assembler.Label) {
	if k, ok := n.(*expr.Const); ok {
		if (k.Str != "") == want {
			e.Code.GoTo(l)
		}
		return
	}
	mark := e.Code.Stack
	off := e.AllocText(n)
	e.Code.LoadPart(asm.R0, off, asm.Byte)
	e.Code.IfTrue(asm.R0, want, l)
	e.Code.Stack = mark
}

// textLength counts the bytes up to the NUL.
func (e *Eval) textLength(n expr.Node) {
	c := e.Code
	if k, ok := n.(*expr.Const); ok {
		c.Constant(asm.R0, int64(len(k.Str)))
		return
	}
	size := e.Env.Room(n)
	mark := c.Stack
	if e.Env.copied(n) {
		// The helper that copied it counted them, the NUL included.
		e.AllocText(n)
		c.Emit(asm.Sub.Imm(asm.R0, 1))
		c.Stack = mark
		return
	}
	off := e.allocFull(n)
	e.texts().count(off, size)
	c.Stack = mark
}

// compareTexts jumps to l if the comparison's truth is want.
func (e *Eval) compareTexts(n *expr.Binary, want bool, l assembler.Label) {
	c := e.Code
	mark := c.Stack
	defer func() { c.Stack = mark }()
	op := n.Op
	y, isConst := n.Y.(*expr.Const)
	switch op {
	case expr.OpGlob, expr.OpPrefix, expr.OpSuffix, expr.OpContains:
		if !isConst {
			assembler.Refuse("%s of a pattern that is not a constant", op)
		}
		done := false
		if y, done = e.match(n.X, op, y.Str, want, l); done {
			return
		}
		op = expr.OpStrEq
	}
	switch op {
	case expr.OpStrEq, expr.OpStrNe:
		equal := want == (op == expr.OpStrEq)
		if isConst {
			e.equalConst(n.X, y.Str, equal, l)
			return
		}
		if x, ok := n.X.(*expr.Const); ok {
			e.equalConst(n.Y, x.Str, equal, l)
			return
		}
		a, b, size := e.bothTexts(n.X, n.Y, e.Text)
		e.texts().equal(a, b, size, equal, l)
	case expr.OpStrLt, expr.OpStrLe:
		a, b, size := e.bothTexts(n.X, n.Y, e.fullText)
		e.texts().order(a, b, size, op == expr.OpStrLe, want, l)
	default:
		assembler.Refuse("operator %s on texts", op)
	}
}

// match jumps to l if the truth of the match is want. If the glob has no
// wildcards, it generates nothing and returns the text to compare with.
func (e *Eval) match(x expr.Node, op expr.Op, what string, want bool,
	l assembler.Label) (equal *expr.Const, done bool) {
	p := &pattern{}
	switch op {
	case expr.OpGlob:
		simple, op, ok := simpleGlob(what)
		switch {
		case ok && op == expr.OpStrEq:
			return &expr.Const{T: expr.TStr, Str: simple}, false
		case ok:
			e.prefix(x, simple, want, l)
			return nil, true
		}
		p = globPattern(what)
	case expr.OpPrefix:
		e.prefix(x, what, want, l)
		return nil, true
	default:
		NoNUL(what)
		p.star()
		p.literal(what)
		if op == expr.OpContains {
			p.star()
		}
	}
	size, at := e.Env.Room(x), e.AllocText(x)
	if size != sent.LongRoom {
		e.texts().matches(at, size, p, what, want, l)
		return nil, true
	}
	long, end := e.Code.Label(), e.Code.Label()
	e.Code.LoadPart(asm.R1, at+sent.LongMark, asm.Byte)
	e.Code.IfImm(asm.JNE, asm.R1, 0, long)
	e.texts().matches(at, size, p, what, want, l)
	e.Code.GoTo(end)
	e.Code.Place(long)
	suffix, ok := what, op == expr.OpSuffix
	if op == expr.OpGlob {
		suffix, ok = strings.CutPrefix(what, "*")
		ok = ok && !strings.ContainsAny(suffix, "*?[")
	}
	if ok {
		e.Long.hasSuffix(at, suffix, want, l, e.Fail)
	} else {
		e.Long.matches(at, p, want, l, e.Fail)
	}
	e.Code.Place(end)
	return nil, true
}

// equalConst jumps to l if (x == s) is equal.
func (e *Eval) equalConst(x expr.Node, s string, equal bool, l assembler.Label) {
	c := e.Code
	if k, ok := x.(*expr.Const); ok {
		if (k.Str == s) == equal {
			c.GoTo(l)
		}
		return
	}
	size := e.Env.Room(x)
	e.texts().equalsConst(e.begins(x, s), size, s, equal, l)
}

// prefix jumps to l if "x starts with s" is want.
func (e *Eval) prefix(x expr.Node, s string, want bool, l assembler.Label) {
	size := e.Env.Room(x)
	e.texts().hasPrefix(e.begins(x, s), size, s, want, l)
}

// bothTexts evaluates two texts to places of the same size.
func (e *Eval) bothTexts(x, y expr.Node, put func(int16, int, expr.Node)) (a, b int16, size int) {
	size = max(e.Env.Room(x), e.Env.Room(y))
	a = e.Code.Alloc(size)
	put(a, size, x)
	b = e.Code.Alloc(size)
	put(b, size, y)
	return a, b, size
}
