package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file evaluates texts. A text is in a place of fixed size, on the stack or
// in scratch memory: its bytes, then zeros to the end, at least one. So texts
// can be compared by words, and used as keys as they are.
//
// A text that is longer than its place is stored in a map, and the place says where (longtext.go).
// An evaluation that needs all bytes of such a text fails: no text is cut.

// maxText is the room for a text whose length is in the record (__data_loc),
// its NUL included.
const maxText = sent.LongRoom

// Text writes the text n to off, which has room for size bytes.
func (e *Eval) Text(off int16, size int, n expr.Node) {
	c := e.Code
	need := e.Env.Room(n)
	if need > size {
		panic("BUG: text without room")
	}
	if need == maxText && size > maxText {
		defer func() { failLong(e.Code, off, e.Fail) }()
	}
	switch n := n.(type) {
	case *expr.Const:
		if i := indexNUL(n.Str); i >= 0 {
			assembler.Refuse("a text with a NUL inside")
		}
		for i, w := range Words(n.Str, size) {
			c.Constant(asm.R0, int64(w))
			c.Store(off+int16(8*i), asm.R0)
		}
	case *expr.Field:
		e.textField(off, size, n)
	case *expr.LoadState:
		e.stateText(off, size, n)
	case *expr.Native:
		if d, ok := n.Kernel.(*expr.Dict); ok {
			e.lookUpText(off, size, n, d)
			return
		}
		e.userText(off, size, n)
	case *expr.KernelText:
		e.kernelText(off, size, n)
	case *expr.ProcessArea:
		e.processText(off, size, n)
	case *expr.KernelPath:
		e.pathText(off, size, n)
	default:
		e.makeText(off, size, n)
	}
}

// fullText loads all bytes of n: it fails for a text that is longer than its place.
func (e *Eval) fullText(off int16, size int, n expr.Node) {
	e.Text(off, size, n)
	if _, fixed := n.(*expr.Const); !fixed && size == maxText {
		failLong(e.Code, off, e.Fail)
	}
}

// textField reads a text field.
func (e *Eval) textField(off int16, size int, n *expr.Field) {
	c := e.Code
	if i, ok := e.Env.keptField(n); ok {
		e.CallTexts(e.Env.Pair.Join).Copy(i, off, size, e.Fail)
		return
	}
	at, have := e.Env.saved(n)
	if at == 0 {
		at, have = e.Env.slot(n)
	}
	if at == 0 && n.F.Place == event.InSlot && e.Env.isKey(n) {
		at, have = e.Env.Pair.Key, e.Env.Pair.Join.KeyRoom
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
	if in, own, ok := e.Env.ofEnd(n); ok {
		outer := e.Env
		e.Env = in
		e.textField(off, size, own)
		e.Env = outer
		return
	}
	f := n.F
	if read := expr.ReadOf(f); read != nil {
		e.Text(off, size, read)
		return
	}
	if f.Place == event.InMember && f.Member.OfProbe() {
		if o := f.Operand(); o.Constant() {
			e.Text(off, size, &expr.Const{T: expr.TStr, Str: o.Text})
			return
		}
		e.Arguments().Text(off, size, f)
		return
	}
	c.Zero(off, size) // some kernels, such as 6.1, write nothing behind the NUL of a name
	if !e.Hook.ShortText(off, f) {
		e.Hook.LocatedText(f)
		e.Long.copy(off, size, e.Fail)
	}
}

// AllocText evaluates a text to a new place.
func (e *Eval) AllocText(n expr.Node) int16 {
	size := e.Env.Room(n)
	off := e.Code.Alloc(size)
	e.Text(off, size, n)
	return off
}
