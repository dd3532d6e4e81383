package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file reads and writes the state of a fold in its step functions.

// loadState leaves a number of the state in R0.
func (e *Eval) loadState(n *expr.LoadState) {
	e.Code.Load(asm.R0, e.Env.stateAt())
	e.Code.Emit(asm.LoadMem(asm.R0, asm.R0, e.Env.Fold.Fold.Slot(n.Slot), asm.DWord))
}

// storeState writes to the state.
func (e *Eval) storeState(n *expr.StoreState) {
	c := e.Code
	at := e.Env.stateAt()
	f := e.Env.Fold.Fold
	if n.X.Type().Kind != expr.Str {
		e.Num(n.X)
		c.Load(asm.R1, at)
		c.Emit(asm.StoreMem(asm.R1, f.Slot(n.Slot), asm.R0, asm.DWord))
		return
	}
	mark := c.Stack
	room := f.Rooms[n.Slot]
	text := c.Alloc(room)
	e.Text(text, room, n.X)
	c.Load(asm.R1, at)
	for i := 0; i < room; i += 8 {
		c.Load(asm.R0, text+int16(i))
		c.Emit(asm.StoreMem(asm.R1, int16(f.Texts[n.Slot]+i), asm.R0, asm.DWord))
	}
	c.Stack = mark
}

// stateText copies a text of the state to off.
func (e *Eval) stateText(off int16, size int, n *expr.LoadState) {
	c := e.Code
	f := e.Env.Fold.Fold
	c.Load(asm.R1, e.Env.stateAt())
	for i := 0; i < size; i += 8 {
		if i >= f.Rooms[n.Slot] {
			c.Zero(off+int16(i), 8)
			continue
		}
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(f.Texts[n.Slot]+i), asm.DWord))
		c.Store(off+int16(i), asm.R0)
	}
}

// heldStack reads the number of the event's stack.
func (e *Eval) heldStack(dst asm.Register, n *expr.Field) {
	if e.Env.Fold == nil || e.Env.Fold.Stack == 0 || n.Part != expr.Self || e.Env.Out != nil {
		assembler.Refuse("the stack of an event is a number for the functions of folds alone")
	}
	e.Code.Load(dst, e.Env.Fold.Stack)
}
