package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file generates texts that are computed from other texts: conditionals, slices,
// parts, upper and lower case. It also finds a text in another one. The loops over
// their bytes are in textparts.go.

// texts generates code for texts in their places.
func (e *Eval) texts() textCode { return textCode{Code: e.Code, Fail: e.Fail} }

// mostParts bounds the index of a part of a split text.
const mostParts = 4

// madeRoom is the room for a text that is computed from other texts; 0 if n is
// no such text.
func (v Env) madeRoom(n expr.Node) int {
	switch n := n.(type) {
	case *expr.Cond:
		return max(v.Room(n.Then), v.Room(n.Else))
	case *expr.Slice:
		whole := v.Room(n.X)
		if n.Lo >= 0 && (n.NoHi || n.Hi >= 0) {
			return Pad(max(sliced(n, whole), 0) + 1)
		}
		return whole
	case *expr.TextOp:
		switch n.Fn {
		case expr.TextAt:
			return 8
		case expr.TextLower, expr.TextUpper, expr.TextTrim, expr.TextSplit, expr.TextCut:
			return v.Room(n.X)
		}
	}
	return 0
}

// sliced is the most bytes that a slice can have whose bounds count from the front;
// room is the room of the whole text.
func sliced(n *expr.Slice, room int) int {
	to := room - 1
	if !n.NoHi {
		to = min(to, n.Hi)
	}
	return to - n.Lo
}

// makeText writes a text that is computed from other texts to off, which has room
// for size bytes.
func (e *Eval) makeText(off int16, size int, n expr.Node) {
	c := e.Code
	mark := c.Stack
	defer func() { c.Stack = mark }()
	switch n := n.(type) {
	case *expr.Cond:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.Text(off, size, n.Then)
		c.GoTo(end)
		c.Place(other)
		e.Text(off, size, n.Else)
		c.Place(end)
	case *expr.Slice:
		if n.Lo >= 0 && (n.NoHi || n.Hi >= 0) {
			e.sliceFront(off, size, n)
			return
		}
		var hi expr.Node
		if !n.NoHi {
			hi = expr.NewInt(int64(n.Hi))
		}
		e.cut(off, size, n.X, expr.NewInt(int64(n.Lo)), hi)
	case *expr.TextOp:
		e.textOp(off, size, n)
	}
}

func (e *Eval) textOp(off int16, size int, n *expr.TextOp) {
	switch n.Fn {
	case expr.TextLower, expr.TextUpper:
		e.fullText(off, size, n.X)
		e.texts().changeCase(off, size, n.Fn == expr.TextUpper)
	case expr.TextTrim:
		e.trim(off, size, n)
	case expr.TextSplit:
		e.split(off, size, n)
	case expr.TextCut:
		var hi expr.Node
		if len(n.Args) > 1 {
			hi = n.Args[1]
		}
		e.cut(off, size, n.X, n.Args[0], hi)
	case expr.TextAt:
		e.byteAt(off, size, n)
	default:
		assembler.Refuse("%s has no code for the kernel", n)
	}
}

// sliceFront is a slice whose bounds count from the front: the words of the whole
// text, shifted.
func (e *Eval) sliceFront(off int16, size int, n *expr.Slice) {
	room := e.Env.Room(n.X)
	whole := e.Code.Alloc(room)
	e.fullText(whole, room, n.X)
	e.texts().front(off, size, whole, room, n.Lo, sliced(n, room))
}

// index evaluates an index of a text into R0; R1 is the length.
func (e *Eval) index(n expr.Node, length int16) {
	e.Num(n)
	k, ok := n.(*expr.Const)
	e.texts().index(ok && k.Int == int64(int32(k.Int)), length)
}

// cut is x[lo:hi]; without hi it goes to the end.
func (e *Eval) cut(off int16, size int, x, lo, hi expr.Node) {
	c := e.Code
	room := e.Env.Room(x)
	whole, length, from := c.Alloc(room), c.Alloc(8), c.Alloc(8)
	e.fullText(whole, room, x)
	e.texts().length(whole, room)
	c.Store(length, asm.R0)
	e.index(lo, length)
	e.texts().clamp()
	c.Store(from, asm.R0)
	if hi != nil {
		e.index(hi, length)
		e.texts().clamp()
	} else {
		c.Load(asm.R0, length)
	}
	c.Load(asm.R3, from)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.Sub.Reg(asm.R2, asm.R3))
	e.texts().copyPart(off, size, whole, room)
}

// byteAt is x[i] of a text.
func (e *Eval) byteAt(off int16, size int, n *expr.TextOp) {
	c := e.Code
	room := e.Env.Room(n.X)
	whole, length := c.Alloc(room), c.Alloc(8)
	e.fullText(whole, room, n.X)
	e.texts().length(whole, room)
	c.Store(length, asm.R0)
	e.index(n.Args[0], length)
	c.IfReg(asm.JGE, asm.R0, asm.R1, e.Fail) // as unsigned, a negative index is large
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, 1))
	e.texts().copyPart(off, size, whole, room)
}

// trim is x without a constant prefix or suffix.
func (e *Eval) trim(off int16, size int, n *expr.TextOp) {
	cut, ok := n.Args[0].(*expr.Const)
	if !ok || cut.Str == "" {
		assembler.Refuse("%s has no code for the kernel", n)
	}
	op, lo, hi := expr.OpPrefix, len(cut.Str), 0
	if n.I != 1 {
		op, lo, hi = expr.OpSuffix, 0, -len(cut.Str)
	}
	test := &expr.Binary{Op: op, T: expr.TBool, X: n.X, Y: cut}
	rest := &expr.Slice{X: n.X, Lo: lo, Hi: hi, NoHi: n.I == 1}
	e.Text(off, size, &expr.Cond{Test: test, Then: rest, Else: n.X})
}

// split is one part of a text between constant separators.
func (e *Eval) split(off int16, size int, n *expr.TextOp) {
	c := e.Code
	sep, ok := n.Args[0].(*expr.Const)
	switch {
	case !ok, n.I >= mostParts, n.I < -1, n.I < 0 && len(sep.Str) > 1:
		assembler.Refuse("%s has no code for the kernel", n)
	}
	room := e.Env.Room(n.X)
	whole := c.Alloc(room)
	e.fullText(whole, room, n.X)
	if n.I < 0 {
		e.texts().find(whole, room, sep.Str, true)
		c.Emit(asm.Add.Imm(asm.R0, 1))
		e.texts().tail(off, size, whole, room)
		return
	}
	for range n.I {
		e.texts().find(whole, room, sep.Str, false)
		c.IfImm(asm.JSLT, asm.R0, 0, e.Fail)
		c.Emit(asm.Add.Imm(asm.R0, int32(len(sep.Str))))
		rest := c.Alloc(room)
		e.texts().tail(rest, room, whole, room)
		whole = rest
	}
	// The part ends at the next separator, or at the end of the text.
	e.texts().find(whole, room, sep.Str, false)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
	e.texts().negative(asm.R1, asm.R0)
	c.Emit(asm.Mul.Imm(asm.R1, int32(room)), asm.Add.Reg(asm.R2, asm.R1), asm.Mov.Imm(asm.R3, 0))
	e.texts().copyPart(off, size, whole, room)
}

// findText leaves in R0 the index of a text in another one; -1 if it is not
// there.
func (e *Eval) findText(n *expr.TextOp) {
	c := e.Code
	sub, ok := n.Args[0].(*expr.Const)
	if n.Fn != expr.TextFind || !ok {
		assembler.Refuse("%s has no code for the kernel", n)
	}
	mark := c.Stack
	room := e.Env.Room(n.X)
	whole := c.Alloc(room)
	e.fullText(whole, room, n.X)
	switch {
	case sub.Str != "":
		e.texts().find(whole, room, sub.Str, n.I == 1)
	case n.I == 1:
		e.texts().length(whole, room)
	default:
		c.Emit(asm.Mov.Imm(asm.R0, 0))
	}
	c.Stack = mark
}
