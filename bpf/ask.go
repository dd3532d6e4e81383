package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file has the functions of one fold ask for a state of another: a look-up of a key in
// the states of that. A number is read at once, whoever works on the state at that moment: it
// is that of before or after. A text could be read half, so nobody asks for one here.

// ask leaves in R0 what n asks for.
func (e *evaluator) ask(n *expr.Native, a *expr.Asking) {
	if e.env.fold == nil || e.env.fold.fold.asks[a.Of] == nil {
		refuse("a state is asked for of a fold that runs in ppscript")
	}
	c, of := e.code, e.env.fold.fold.asks[a.Of]
	key := n.Args[0]
	text := key.Type().Kind == expr.Str
	if n.T.Kind == expr.Str || len(of.cols) != 1 || of.cols[0].Text != text || of.cols[0].Stack {
		refuse("a text of a state is asked for, or with a key of another kind")
	}
	mark := c.Stack
	size := of.keyLen
	if text {
		size = max(size, e.env.room(key))
	}
	at := c.Alloc(size)
	none, end := c.Label(), c.Label()
	if text {
		e.text(at, size, key)
		for i := of.keyLen; i < size; i += 8 { // no key is that long
			c.Load(asm.R0, at+int16(i))
			c.IfImm(asm.JNE, asm.R0, 0, none)
		}
	} else {
		e.num(key)
		c.Store(at, asm.R0)
	}
	c.Get(load.FoldMap.Of(of.index), at, none)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, of.slot(a.Slot), asm.DWord))
	c.GoTo(end)
	c.Place(none)
	c.Constant(asm.R0, of.init[a.Slot])
	c.Place(end)
	c.Stack = mark
}
