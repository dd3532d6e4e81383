package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/text"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file evaluates texts. A text is a place on the stack of fixed size,
// its bytes followed by zeros to the end, at least one: so that texts compare
// by words, and are keys as they are.
//
// A text whose record gives it more bytes than there is room for is kept elsewhere, and a
// place says where (package text). Who needs all of its bytes fails: no text is cut.

// maxText is the room for texts whose length only the record tells, NUL
// included. The stack has 512 bytes in all.
const maxText = sent.LongRoom

// text puts n at off, which has room for size bytes.
func (e *evaluator) text(off int16, size int, n expr.Node) {
	c := e.code
	need := e.env.room(n)
	if need > size {
		panic("BUG: text without room")
	}
	if need == maxText && size > maxText {
		defer func() { text.Short(e.code, off, e.fail) }()
	}
	switch n := n.(type) {
	case *expr.Const:
		if i := text.IndexNUL(n.Str); i >= 0 {
			refuse("a text with a NUL inside")
		}
		for i, w := range text.Words(n.Str, size) {
			c.Constant(asm.R0, int64(w))
			c.Store(off+int16(8*i), asm.R0)
		}
	case *expr.Field:
		e.textField(off, size, n)
	case *expr.LoadState:
		e.stateText(off, size, n)
	case *expr.Native:
		if d := eval.DictOf(n); d != nil {
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
func (e *evaluator) maker() *eval.Maker {
	return &eval.Maker{Code: e.code, Num: e.num, Text: e.wholly, Same: e.text, Room: e.env.room,
		Branch: e.branch, Fail: e.fail}
}

// wholly is text for who needs all bytes of n.
func (e *evaluator) wholly(off int16, size int, n expr.Node) {
	e.text(off, size, n)
	if _, fixed := n.(*expr.Const); !fixed && size == maxText {
		text.Short(e.code, off, e.fail)
	}
}

// textField reads a text field.
func (e *evaluator) textField(off int16, size int, n *expr.Field) {
	c := e.code
	if i, ok := e.env.keptField(n); ok {
		e.keeper(e.env.pair.join).Copy(i, off, size, e.fail)
		return
	}
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
	c.Zero(off, size) // some kernels, such as 6.1, write no more than the end of a name
	if !e.hook.ShortText(off, f) {
		e.hook.LocatedText(f)
		e.long.Copy(off, size, e.fail)
	}
}

// comparer compares texts.
func (e *evaluator) comparer() *eval.Comparer {
	return &eval.Comparer{Code: e.code, Text: e.wholly, Same: e.text, Room: e.env.room,
		Copied: e.env.copied, Long: e.long, Fail: e.fail}
}

// alloc evaluates a text to a place of its own.
func (e *evaluator) alloc(n expr.Node) int16 {
	size := e.env.room(n)
	off := e.code.Alloc(size)
	e.text(off, size, n)
	return off
}
