package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// This file reads and writes the state of a fold in its step functions.

// loadState leaves a number of the state in R0.
func (e *evaluator) loadState(n *expr.LoadState) {
	e.code.Load(asm.R0, e.env.stateAt())
	e.code.Emit(asm.LoadMem(asm.R0, asm.R0, e.env.fold.fold.slot(n.Slot), asm.DWord))
}

// storeState writes to the state.
func (e *evaluator) storeState(n *expr.StoreState) {
	c := e.code
	at := e.env.stateAt()
	f := e.env.fold.fold
	if n.X.Type().Kind != expr.Str {
		e.num(n.X)
		c.Load(asm.R1, at)
		c.Emit(asm.StoreMem(asm.R1, f.slot(n.Slot), asm.R0, asm.DWord))
		return
	}
	mark := c.Stack
	room := f.rooms[n.Slot]
	text := c.Alloc(room)
	e.text(text, room, n.X)
	c.Load(asm.R1, at)
	for i := 0; i < room; i += 8 {
		c.Load(asm.R0, text+int16(i))
		c.Emit(asm.StoreMem(asm.R1, int16(f.texts[n.Slot]+i), asm.R0, asm.DWord))
	}
	c.Stack = mark
}

// stateText copies a text of the state to off.
func (e *evaluator) stateText(off int16, size int, n *expr.LoadState) {
	c := e.code
	f := e.env.fold.fold
	c.Load(asm.R1, e.env.stateAt())
	for i := 0; i < size; i += 8 {
		if i >= f.rooms[n.Slot] {
			c.Zero(off+int16(i), 8)
			continue
		}
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(f.texts[n.Slot]+i), asm.DWord))
		c.Store(off+int16(i), asm.R0)
	}
}

// heldStack reads the number of the event's stack.
func (e *evaluator) heldStack(dst asm.Register, n *expr.Field) {
	if e.env.fold == nil || e.env.fold.stack == 0 || n.Part != expr.Self || e.env.out != nil {
		refuse("the stack of an event is a number for the functions of folds alone")
	}
	e.code.Load(dst, e.env.fold.stack)
}
