package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/lookup"
	"ppscript/bpf/madetext"
	"ppscript/bpf/pattern"
	"ppscript/bpf/textcode"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates texts. A text is a place on the stack of fixed size,
// its bytes followed by zeros to the end, at least one: so that texts compare
// by words, and are keys as they are.
//
// A field whose record gives it more bytes than we have room for fails: a cut
// key would be another key.

// maxText is the room for texts whose length only the record tells, NUL
// included. The stack has 512 bytes in all.
const maxText = 128

// text puts n at off, which has room for size bytes.
func (e *eval) text(off int16, size int, n expr.Node) {
	c := e.code
	if need := e.env.room(n); need > size {
		panic("BUG: text without room")
	}
	switch n := n.(type) {
	case *expr.Const:
		if i := textcode.IndexNUL(n.Str); i >= 0 {
			refuse("a text with a NUL inside")
		}
		for i, w := range textcode.Words(n.Str, size) {
			c.Constant(asm.R0, int64(w))
			c.Store(off+int16(8*i), asm.R0)
		}
	case *expr.Field:
		e.textField(off, size, n)
	case *expr.LoadState:
		foldState{e}.text(off, size, n)
	case *expr.Native:
		if d := lookup.Of(n); d != nil {
			e.finder().Word(off, size, n, d)
			return
		}
		e.userText(off, size, n)
	case *expr.KernelText:
		e.reader().Text(off, size, n)
	default:
		e.maker().Make(off, size, n)
	}
}

// texts writes what is done with texts of the stack.
func (e *eval) texts() textcode.Code { return textcode.Code{Code: e.code, Fail: e.fail} }

// maker evaluates texts that are made of others.
func (e *eval) maker() *madetext.Maker {
	return &madetext.Maker{Code: e.code, Num: e.num, Text: e.text, Room: e.env.room, Branch: e.branch,
		Fail: e.fail}
}

// textField reads a text field.
func (e *eval) textField(off int16, size int, n *expr.Field) {
	c := e.code
	at, have := e.env.saved(n)
	if at == 0 {
		at, have = e.env.slot(n)
	}
	if at == 0 && n.F.Place == event.InSlot && e.env.isKey(n) {
		at, have = e.env.pair.key, e.env.pair.join.keyRoom
	}
	if at != 0 {
		for i := 0; i < size; i += 8 {
			if i < have {
				c.Load(asm.R0, at+int16(i))
				c.Store(off+int16(i), asm.R0)
			} else {
				c.Zero(off+int16(i), 8)
			}
		}
		return
	}
	if in, own, ok := e.env.ofEnd(n); ok {
		outer := e.env
		e.env = in
		e.textField(off, size, own)
		e.env = outer
		return
	}
	f := n.F
	if read := expr.ReadOf(f); read != nil {
		e.text(off, size, read)
		return
	}
	if f.Place == event.InMember && f.Member.OfProbe() {
		arguments{e}.textAt(off, size, f)
		return
	}
	if f.Place == event.InMember {
		c.Zero(off, size) // some kernels, such as 6.1, write no more than the end of the name
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, 16))
		c.Call(asm.FnGetCurrentComm)
		return
	}
	c.Zero(off, size)
	if e.hook.Raw != nil {
		e.hook.RawText(off, f.Name)
		return
	}
	if f.Place == event.InRaw {
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, int32(f.Size+1)), asm.Mov.Reg(asm.R3, asm.R6),
			asm.Add.Imm(asm.R3, int32(f.Offset)))
		c.Call(asm.FnProbeReadKernelStr)
		return
	}
	// Length and offset of the data; one byte more is read, the NUL.
	e.hook.Record(asm.R0, f.Offset, 4, false)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.RSh.Imm(asm.R2, 16), asm.Add.Imm(asm.R2, 1))
	c.IfImm(asm.JGT, asm.R2, maxText, e.fail)
	c.Emit(asm.And.Imm(asm.R0, 0xffff))
	if f.Place == event.RelLoc {
		c.Emit(asm.Add.Imm(asm.R0, int32(f.Offset)+4))
	}
	c.Emit(asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Reg(asm.R3, asm.R0))
	c.Addr(asm.R1, off)
	c.Call(asm.FnProbeReadKernelStr)
}

// textTruth jumps to l if "n is not empty" is want.
func (e *eval) textTruth(n expr.Node, want bool, l label) {
	if k, ok := n.(*expr.Const); ok {
		if (k.Str != "") == want {
			e.code.GoTo(l)
		}
		return
	}
	mark := e.code.Stack
	off := e.alloc(n)
	e.code.Emit(asm.LoadMem(asm.R0, asm.R10, off, asm.Byte))
	e.code.IfTrue(asm.R0, want, l)
	e.code.Stack = mark
}

// alloc evaluates a text to a place of its own.
func (e *eval) alloc(n expr.Node) int16 {
	size := e.env.room(n)
	off := e.code.Alloc(size)
	e.text(off, size, n)
	return off
}

// textLen counts the bytes up to the NUL.
func (e *eval) textLen(n expr.Node) {
	c := e.code
	if k, ok := n.(*expr.Const); ok {
		c.Constant(asm.R0, int64(len(k.Str)))
		return
	}
	size := e.env.room(n)
	mark := c.Stack
	if e.env.copied(n) {
		// Who copied it knows, the NUL included.
		e.alloc(n)
		c.Emit(asm.Sub.Imm(asm.R0, 1))
		c.Stack = mark
		return
	}
	off := e.alloc(n)
	e.texts().Count(off, size)
	c.Stack = mark
}

// compareText jumps to l if the comparison's truth is want.
func (e *eval) compareText(n *expr.Binary, want bool, l label) {
	c := e.code
	mark := c.Stack
	defer func() { c.Stack = mark }()
	op := n.Op
	y, isConst := n.Y.(*expr.Const)
	switch op {
	case expr.OpGlob, expr.OpPrefix, expr.OpSuffix, expr.OpContains:
		if !isConst {
			refuse("%s of a pattern that is not a constant", op)
		}
		done := false
		if y, done = e.matchText(n.X, op, y.Str, want, l); done {
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
		a, b, size := e.bothTexts(n.X, n.Y)
		e.texts().Equal(a, b, size, equal, l)
	case expr.OpStrLt, expr.OpStrLe:
		a, b, size := e.bothTexts(n.X, n.Y)
		e.texts().Order(a, b, size, op == expr.OpStrLe, want, l)
	default:
		refuse("operator %s on texts", op)
	}
}

// matchText jumps to l if a match's truth is want. A glob that is an equality
// is left to others: its text is returned.
func (e *eval) matchText(x expr.Node, op expr.Op, text string, want bool,
	l label) (equal *expr.Const, done bool) {
	p := &pattern.Pattern{}
	switch op {
	case expr.OpGlob:
		simple, op, ok := textcode.SimpleGlob(text)
		switch {
		case ok && op == expr.OpStrEq:
			return &expr.Const{T: expr.TStr, Str: simple}, false
		case ok:
			e.prefix(x, simple, want, l)
			return nil, true
		}
		p = pattern.Glob(text)
	case expr.OpPrefix:
		e.prefix(x, text, want, l)
		return nil, true
	default:
		textcode.NoNUL(text)
		p.Star()
		p.Literal(text)
		if op == expr.OpContains {
			p.Star()
		}
	}
	size := e.env.room(x)
	e.texts().Matches(e.alloc(x), size, p, text, want, l)
	return nil, true
}

// equalConst jumps to l if (x == s) is equal.
func (e *eval) equalConst(x expr.Node, s string, equal bool, l label) {
	c := e.code
	if k, ok := x.(*expr.Const); ok {
		if (k.Str == s) == equal {
			c.GoTo(l)
		}
		return
	}
	size := e.env.room(x)
	e.texts().EqualsConst(e.alloc(x), size, s, equal, l)
}

// prefix jumps to l if "x starts with s" is want.
func (e *eval) prefix(x expr.Node, s string, want bool, l label) {
	size := e.env.room(x)
	e.texts().HasPrefix(e.alloc(x), size, s, want, l)
}

// bothTexts evaluates two texts to places of one size.
func (e *eval) bothTexts(x, y expr.Node) (a, b int16, size int) {
	size = max(e.env.room(x), e.env.room(y))
	a = e.code.Alloc(size)
	e.text(a, size, x)
	b = e.code.Alloc(size)
	e.text(b, size, y)
	return a, b, size
}
