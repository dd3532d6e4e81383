package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file lets functions of one fold read a state of another fold: they look a key up in its
// states. A number is read at once, even while another CPU changes the state, so it is the number
// before or after the change. A text could be read half-written, so texts are refused.

// ask leaves in R0 a number of another fold's state; if the key has no state,
// the number that a new state has.
func (e *Eval) ask(n *expr.Native, a *expr.Asking) {
	if e.Env.Fold == nil || e.Env.Fold.Fold.Asks[a.Of] == nil {
		assembler.Refuse("a state is asked for of a fold that runs in ppscript")
	}
	c, of := e.Code, e.Env.Fold.Fold.Asks[a.Of]
	key := n.Args[0]
	text := key.Type().Kind == expr.Str
	if n.T.Kind == expr.Str || len(of.Cols) != 1 || of.Cols[0].Text != text || of.Cols[0].Stack {
		assembler.Refuse("a text of a state is asked for, or with a key of another kind")
	}
	mark := c.Stack
	size := of.KeyLen
	if text {
		size = max(size, e.Env.Room(key))
	}
	at := c.Alloc(size)
	none, end := c.Label(), c.Label()
	if text {
		e.Text(at, size, key)
		for i := of.KeyLen; i < size; i += 8 { // no key is that long
			c.Load(asm.R0, at+int16(i))
			c.IfImm(asm.JNE, asm.R0, 0, none)
		}
	} else {
		e.Num(key)
		c.Store(at, asm.R0)
	}
	c.Get(load.FoldMap.Of(of.Index), at, none)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, of.Slot(a.Slot), asm.DWord))
	c.GoTo(end)
	c.Place(none)
	c.Constant(asm.R0, of.Init[a.Slot])
	c.Place(end)
	c.Stack = mark
}
