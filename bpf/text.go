package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/comparetext"
	"ppscript/bpf/lookup"
	"ppscript/bpf/madetext"
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
		e.arguments().Text(off, size, f)
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

// comparer compares texts.
func (e *eval) comparer() *comparetext.Comparer {
	return &comparetext.Comparer{Code: e.code, Text: e.text, Room: e.env.room, Copied: e.env.copied,
		Fail: e.fail}
}

// alloc evaluates a text to a place of its own.
func (e *eval) alloc(n expr.Node) int16 {
	size := e.env.room(n)
	off := e.code.Alloc(size)
	e.text(off, size, n)
	return off
}
