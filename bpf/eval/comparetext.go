package eval

import (
	"strings"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/text"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file generates comparisons of texts: their order, whether one fits a
// pattern or is empty, and how long one is.
// Package text has the loops over their bytes.

// A Comparer compares texts.
type Comparer struct {
	*assembler.Code
	// Text puts a text at a place of the stack with so much room, and Room is how much one
	// needs. Text fails for texts that are longer than their places; Same puts these too, whose
	// place only says where they are, and is the same for the same texts. Copied says that R0 is
	// then how many bytes it has, with its NUL.
	Text   func(at int16, size int, n expr.Node)
	Same   func(at int16, size int, n expr.Node)
	Room   func(n expr.Node) int
	Copied func(n expr.Node) bool
	// Long is for texts that are longer than their places.
	Long *text.Keeper
	// Fail is where an event goes for which there is no such text.
	Fail assembler.Label
}

// texts writes what is done with texts of the stack.
func (e *Comparer) texts() text.Code { return text.Code{Code: e.Code, Fail: e.Fail} }

// alloc evaluates a text to a place of its own, same one that may be longer than that.
func (e *Comparer) alloc(n expr.Node) int16 { return e.place(n, e.Text) }

func (e *Comparer) same(n expr.Node) int16 { return e.place(n, e.Same) }

func (e *Comparer) place(n expr.Node, put func(at int16, size int, n expr.Node)) int16 {
	size := e.Room(n)
	off := e.Alloc(size)
	put(off, size, n)
	return off
}

// begins evaluates a text that is compared with a constant, or with its beginning: of one that
// is longer than its place, its first bytes are there.
func (e *Comparer) begins(x expr.Node, s string) int16 {
	if len(s) >= sent.LongFront {
		return e.alloc(x)
	}
	return e.same(x)
}

// Truth jumps to l if "n is not empty" is want.
func (e *Comparer) Truth(n expr.Node, want bool, l assembler.Label) {
	if k, ok := n.(*expr.Const); ok {
		if (k.Str != "") == want {
			e.GoTo(l)
		}
		return
	}
	mark := e.Stack
	off := e.same(n)
	e.Emit(asm.LoadMem(asm.R0, asm.R10, off, asm.Byte))
	e.IfTrue(asm.R0, want, l)
	e.Stack = mark
}

// Len counts the bytes up to the NUL.
func (e *Comparer) Len(n expr.Node) {
	c := e.Code
	if k, ok := n.(*expr.Const); ok {
		c.Constant(asm.R0, int64(len(k.Str)))
		return
	}
	size := e.Room(n)
	mark := c.Stack
	if e.Copied(n) {
		// Who copied it knows, the NUL included.
		e.same(n)
		c.Emit(asm.Sub.Imm(asm.R0, 1))
		c.Stack = mark
		return
	}
	off := e.alloc(n)
	e.texts().Count(off, size)
	c.Stack = mark
}

// Compare jumps to l if the comparison's truth is want.
func (e *Comparer) Compare(n *expr.Binary, want bool, l assembler.Label) {
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
		a, b, size := e.bothTexts(n.X, n.Y, e.Same)
		e.texts().Equal(a, b, size, equal, l)
	case expr.OpStrLt, expr.OpStrLe:
		a, b, size := e.bothTexts(n.X, n.Y, e.Text)
		e.texts().Order(a, b, size, op == expr.OpStrLe, want, l)
	default:
		assembler.Refuse("operator %s on texts", op)
	}
}

// match jumps to l if a match's truth is want. A glob that is an equality
// is left to others: its text is returned.
func (e *Comparer) match(x expr.Node, op expr.Op, what string, want bool,
	l assembler.Label) (equal *expr.Const, done bool) {
	p := &text.Pattern{}
	switch op {
	case expr.OpGlob:
		simple, op, ok := text.SimpleGlob(what)
		switch {
		case ok && op == expr.OpStrEq:
			return &expr.Const{T: expr.TStr, Str: simple}, false
		case ok:
			e.prefix(x, simple, want, l)
			return nil, true
		}
		p = text.Glob(what)
	case expr.OpPrefix:
		e.prefix(x, what, want, l)
		return nil, true
	default:
		text.NoNUL(what)
		p.Star()
		p.Literal(what)
		if op == expr.OpContains {
			p.Star()
		}
	}
	size, at := e.Room(x), e.same(x)
	if size != sent.LongRoom {
		e.texts().Matches(at, size, p, what, want, l)
		return nil, true
	}
	long, end := e.Label(), e.Label()
	e.Emit(asm.LoadMem(asm.R1, asm.R10, at+sent.LongMark, asm.Byte))
	e.IfImm(asm.JNE, asm.R1, 0, long)
	e.texts().Matches(at, size, p, what, want, l)
	e.GoTo(end)
	e.Place(long)
	suffix, ok := what, op == expr.OpSuffix
	if op == expr.OpGlob {
		suffix, ok = strings.CutPrefix(what, "*")
		ok = ok && !strings.ContainsAny(suffix, "*?[")
	}
	if ok {
		e.Long.HasSuffix(at, suffix, want, l, e.Fail)
	} else {
		e.Long.Matches(at, p, want, l, e.Fail)
	}
	e.Place(end)
	return nil, true
}

// equalConst jumps to l if (x == s) is equal.
func (e *Comparer) equalConst(x expr.Node, s string, equal bool, l assembler.Label) {
	c := e.Code
	if k, ok := x.(*expr.Const); ok {
		if (k.Str == s) == equal {
			c.GoTo(l)
		}
		return
	}
	size := e.Room(x)
	e.texts().EqualsConst(e.begins(x, s), size, s, equal, l)
}

// prefix jumps to l if "x starts with s" is want.
func (e *Comparer) prefix(x expr.Node, s string, want bool, l assembler.Label) {
	size := e.Room(x)
	e.texts().HasPrefix(e.begins(x, s), size, s, want, l)
}

// bothTexts evaluates two texts to places of one size.
func (e *Comparer) bothTexts(x, y expr.Node, put func(int16, int, expr.Node)) (a, b int16, size int) {
	size = max(e.Room(x), e.Room(y))
	a = e.Alloc(size)
	put(a, size, x)
	b = e.Alloc(size)
	put(b, size, y)
	return a, b, size
}
