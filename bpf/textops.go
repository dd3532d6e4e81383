package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/latetext"
	"ppscript/runtime/expr"
)

// This file evaluates texts that are made of others: one of two, slices, parts, other
// case; and where a text is in another one.
//
// Bounds are computed without branches: the verifier would follow each path through
// the rest of the program. (What is 0 or all ones it splits as well, since 6.18, so
// truths are 0 or 1, and multiplied.) Bytes at a place that is computed are copied by
// the helper that reads memory of the kernel: the stack is that too.

// A maker evaluates texts that are made of others, and what is found in them.
type maker struct{ *eval }

// mostParts bounds the parts of a split text that are looked for.
const mostParts = 4

// madeRoom is room for a text that is made of others; 0 if n is none of these.
func (v env) madeRoom(n expr.Node) int {
	switch n := n.(type) {
	case *expr.Cond:
		return max(v.room(n.Then), v.room(n.Else))
	case *expr.Slice:
		room := v.room(n.X)
		if n.Lo >= 0 && (n.NoHi || n.Hi >= 0) {
			return pad(max(sliced(n, room), 0) + 1)
		}
		return room
	case *expr.TextOp:
		switch n.Fn {
		case expr.TextAt:
			return 8
		case expr.TextLower, expr.TextUpper, expr.TextTrim, expr.TextSplit, expr.TextCut:
			return v.room(n.X)
		}
	}
	return 0
}

// sliced is how many bytes a slice has at most whose bounds count from the front; room
// is that of the whole.
func sliced(n *expr.Slice, room int) int {
	to := room - 1
	if !n.NoHi {
		to = min(to, n.Hi)
	}
	return to - n.Lo
}

// madeText puts a text that is made of others at off, which has room for size bytes.
func (e maker) madeText(off int16, size int, n expr.Node) {
	c := e.code
	mark := c.Stack
	defer func() { c.Stack = mark }()
	switch n := n.(type) {
	case *expr.Cond:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.text(off, size, n.Then)
		c.GoTo(end)
		c.Place(other)
		e.text(off, size, n.Else)
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

func (e maker) textOp(off int16, size int, n *expr.TextOp) {
	switch n.Fn {
	case expr.TextLower, expr.TextUpper:
		e.text(off, size, n.X)
		e.changeCase(off, size, n.Fn == expr.TextUpper)
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
		refuse("%s has no code for the kernel", n)
	}
}

// sliceFront is a slice whose bounds count from the front: words of the whole, moved
// down.
func (e maker) sliceFront(off int16, size int, n *expr.Slice) {
	c := e.code
	room := e.env.room(n.X)
	whole := c.Alloc(room)
	e.text(whole, room, n.X)
	left := sliced(n, room)
	for i := 0; i < size; i += 8 {
		if left-i <= 0 {
			c.Zero(off+int16(i), 8)
			continue
		}
		e.wordAt(asm.R0, asm.R1, whole, room, n.Lo+i)
		if keep := left - i; keep < 8 {
			c.Emit(asm.LSh.Imm(asm.R0, int32(64-8*keep)), asm.RSh.Imm(asm.R0, int32(64-8*keep)))
		}
		c.Store(off+int16(i), asm.R0)
	}
}

// wordAt loads 8 bytes of a text from byte i on; those behind its room are 0.
func (e maker) wordAt(dst, scratch asm.Register, text int16, room, i int) {
	c := e.code
	k, shift := i/8*8, int32(i%8*8)
	c.Load(dst, text+int16(k))
	if shift == 0 {
		return
	}
	c.Emit(asm.RSh.Imm(dst, shift))
	if k+8 < room {
		c.Load(scratch, text+int16(k+8))
		c.Emit(asm.LSh.Imm(scratch, 64-shift), asm.Or.Reg(dst, scratch))
	}
}

// length leaves in R0 how many bytes the text at a place has.
func (e maker) length(text int16, room int) {
	c := e.code
	// It is copied onto itself, and the helper counts.
	c.Addr(asm.R1, text)
	c.Emit(asm.Mov.Imm(asm.R2, int32(room)), asm.Mov.Reg(asm.R3, asm.R1))
	c.Call(asm.FnProbeReadKernelStr)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
}

// negative leaves in dst 1 if src is negative, else 0.
func (e maker) negative(dst, src asm.Register) {
	e.code.Emit(asm.Mov.Reg(dst, src), asm.RSh.Imm(dst, 63))
}

// index evaluates an index that counts from the end if it is negative, into R0; R1
// is the length. Starlark takes indices of 32 bits.
func (e maker) index(n expr.Node, length int16) {
	c := e.code
	e.num(n)
	if k, ok := n.(*expr.Const); !ok || k.Int != int64(int32(k.Int)) {
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
		c.Extend(asm.R1, 32, true)
		c.IfReg(asm.JNE, asm.R0, asm.R1, e.fail)
	}
	c.Load(asm.R1, length)
	e.negative(asm.R2, asm.R0)
	c.Emit(asm.Mul.Reg(asm.R2, asm.R1), asm.Add.Reg(asm.R0, asm.R2))
}

// clamp brings the index in R0 into the text, whose length is in R1.
func (e maker) clamp() {
	c := e.code
	e.negative(asm.R2, asm.R0)
	c.Emit(asm.Xor.Imm(asm.R2, 1), asm.Mul.Reg(asm.R0, asm.R2))
	c.Emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Reg(asm.R3, asm.R0))
	e.negative(asm.R2, asm.R3)
	c.Emit(asm.Mul.Reg(asm.R2, asm.R3), asm.Add.Reg(asm.R0, asm.R2))
}

// cut is x[lo:hi]; without hi it goes to the end.
func (e maker) cut(off int16, size int, x, lo, hi expr.Node) {
	c := e.code
	room := e.env.room(x)
	whole, length, from := c.Alloc(room), c.Alloc(8), c.Alloc(8)
	e.text(whole, room, x)
	e.length(whole, room)
	c.Store(length, asm.R0)
	e.index(lo, length)
	e.clamp()
	c.Store(from, asm.R0)
	if hi != nil {
		e.index(hi, length)
		e.clamp()
	} else {
		c.Load(asm.R0, length)
	}
	c.Load(asm.R3, from)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.Sub.Reg(asm.R2, asm.R3))
	e.copyPart(off, size, whole, room)
}

// copyPart copies R2 bytes of a text, nothing if that is negative, from byte R3 on.
func (e maker) copyPart(off int16, size int, text int16, room int) {
	c := e.code
	e.negative(asm.R4, asm.R2)
	c.Emit(asm.Xor.Imm(asm.R4, 1), asm.Mul.Reg(asm.R2, asm.R4))
	c.Zero(off, size)
	// The verifier does not know what was computed.
	c.IfImm(asm.JGT, asm.R2, int32(min(size, room)-1), e.fail)
	c.IfImm(asm.JGT, asm.R3, int32(room-1), e.fail)
	c.Emit(asm.Add.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, int32(text)))
	c.Addr(asm.R1, off)
	c.Call(asm.FnProbeReadKernel)
}

// byteAt is x[i] of a text.
func (e maker) byteAt(off int16, size int, n *expr.TextOp) {
	c := e.code
	room := e.env.room(n.X)
	whole, length := c.Alloc(room), c.Alloc(8)
	e.text(whole, room, n.X)
	e.length(whole, room)
	c.Store(length, asm.R0)
	e.index(n.Args[0], length)
	c.IfReg(asm.JGE, asm.R0, asm.R1, e.fail) // a negative one is a large one
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, 1))
	e.copyPart(off, size, whole, room)
}

// trim is x without a beginning or end that is a constant.
func (e maker) trim(off int16, size int, n *expr.TextOp) {
	cut, ok := n.Args[0].(*expr.Const)
	if !ok || cut.Str == "" {
		refuse("%s has no code for the kernel", n)
	}
	op, lo, hi := expr.OpPrefix, len(cut.Str), 0
	if n.I != 1 {
		op, lo, hi = expr.OpSuffix, 0, -len(cut.Str)
	}
	test := &expr.Binary{Op: op, T: expr.TBool, X: n.X, Y: cut}
	rest := &expr.Slice{X: n.X, Lo: lo, Hi: hi, NoHi: n.I == 1}
	e.text(off, size, &expr.Cond{Test: test, Then: rest, Else: n.X})
}

// split is one part of a text between separators that are a constant.
func (e maker) split(off int16, size int, n *expr.TextOp) {
	c := e.code
	sep, ok := n.Args[0].(*expr.Const)
	switch {
	case !ok, n.I >= mostParts, n.I < -1, n.I < 0 && len(sep.Str) > 1:
		refuse("%s has no code for the kernel", n)
	}
	room := e.env.room(n.X)
	whole := c.Alloc(room)
	e.text(whole, room, n.X)
	if n.I < 0 {
		e.findIn(whole, room, sep.Str, true)
		c.Emit(asm.Add.Imm(asm.R0, 1))
		e.tail(off, size, whole, room)
		return
	}
	for range n.I {
		e.findIn(whole, room, sep.Str, false)
		c.IfImm(asm.JSLT, asm.R0, 0, e.fail)
		c.Emit(asm.Add.Imm(asm.R0, int32(len(sep.Str))))
		rest := c.Alloc(room)
		e.tail(rest, room, whole, room)
		whole = rest
	}
	// Up to the separator; without one, all.
	e.findIn(whole, room, sep.Str, false)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
	e.negative(asm.R1, asm.R0)
	c.Emit(asm.Mul.Imm(asm.R1, int32(room)), asm.Add.Reg(asm.R2, asm.R1), asm.Mov.Imm(asm.R3, 0))
	e.copyPart(off, size, whole, room)
}

// tail copies a text from byte R0 on, with the zeros behind it.
func (e maker) tail(off int16, size int, text int16, room int) {
	c := e.code
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, int32(room-1)), asm.Sub.Reg(asm.R2, asm.R0))
	e.copyPart(off, size, text, room)
}

// find evaluates where a text is in another one.
func (e maker) find(n *expr.TextOp) {
	c := e.code
	sub, ok := n.Args[0].(*expr.Const)
	if n.Fn != expr.TextFind || !ok {
		refuse("%s has no code for the kernel", n)
	}
	mark := c.Stack
	room := e.env.room(n.X)
	whole := c.Alloc(room)
	e.text(whole, room, n.X)
	switch {
	case sub.Str != "":
		e.findIn(whole, room, sub.Str, n.I == 1)
	case n.I == 1:
		e.length(whole, room)
	default:
		c.Emit(asm.Mov.Imm(asm.R0, 0))
	}
	c.Stack = mark
}

// findIn leaves in R0 where a constant is first, or last, in the text at a place; -1 is
// nowhere.
func (e maker) findIn(text int16, room int, sub string, last bool) {
	c := e.code
	if len(sub) > 8 || indexNUL(sub) >= 0 {
		refuse("finding a text of %d bytes", len(sub))
	}
	places := room - len(sub)
	if places <= 0 {
		c.Emit(asm.Mov.Imm(asm.R0, -1))
		return
	}
	unused := int32(64 - 8*len(sub))
	c.Constant(asm.R4, int64(latetext.Word(sub)<<unused))
	// R5 is 1 while none was found.
	c.Emit(asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R5, 1))
	for i := range places {
		e.wordAt(asm.R1, asm.R2, text, room, i)
		if unused > 0 {
			c.Emit(asm.LSh.Imm(asm.R1, unused))
		}
		// R2 is 1 if it is not here.
		c.Emit(asm.Xor.Reg(asm.R1, asm.R4), asm.Mov.Reg(asm.R2, asm.R1), asm.Neg.Imm(asm.R2, 0),
			asm.Or.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R2, 63))
		if last {
			c.Emit(asm.Mul.Reg(asm.R0, asm.R2), asm.Xor.Imm(asm.R2, 1), asm.Mul.Imm(asm.R2, int32(i+1)),
				asm.Add.Reg(asm.R0, asm.R2))
		} else {
			c.Emit(asm.And.Reg(asm.R5, asm.R2), asm.Add.Reg(asm.R0, asm.R5))
		}
	}
	if last {
		c.Emit(asm.Sub.Imm(asm.R0, 1))
	} else {
		c.Emit(asm.Mul.Imm(asm.R5, int32(places+1)), asm.Sub.Reg(asm.R0, asm.R5))
	}
}

// changeCase changes the case of the letters of a text in its place, eight at a time.
// Letters beyond ASCII fail.
func (e maker) changeCase(off int16, size int, upper bool) {
	c := e.code
	const each = uint64(0x0101010101010101)
	word := func(dst asm.Register, b byte) { c.Constant(dst, int64(each*uint64(b))) }
	first, last := byte('A'), byte('Z')
	if upper {
		first, last = 'a', 'z'
	}
	word(asm.R3, 0x80)
	word(asm.R4, 0x80-first)
	word(asm.R5, 0x80-last-1)
	for i := 0; i < size; i += 8 {
		c.Load(asm.R0, off+int16(i))
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.And.Reg(asm.R1, asm.R3))
		c.IfImm(asm.JNE, asm.R1, 0, e.fail)
		// The top bit of each byte: it is not below first, and not up to last.
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.Add.Reg(asm.R1, asm.R4),
			asm.Mov.Reg(asm.R2, asm.R0), asm.Add.Reg(asm.R2, asm.R5), asm.Xor.Imm(asm.R2, -1),
			asm.And.Reg(asm.R1, asm.R2), asm.And.Reg(asm.R1, asm.R3), asm.RSh.Imm(asm.R1, 2),
			asm.Xor.Reg(asm.R0, asm.R1))
		c.Store(off+int16(i), asm.R0)
	}
}
