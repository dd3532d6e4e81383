package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file reads and writes the lists of a fold's state. The verifier requires
// that an index is known to be in the list where it becomes part of an address:
// the comparison that fails the event proves it.

// elem leaves the address of an element of the list in R1, without the offset
// of the list in the state, which the access adds.
func (e *Eval) elem(size int, i expr.Node) {
	e.Num(i)
	assembler.Element(e.Code, e.Env.stateAt(), size, e.Fail)
}

// loadElem leaves an element in R0.
func (e *Eval) loadElem(n *expr.LoadElem) {
	e.elem(n.Len, n.I)
	e.Code.Emit(asm.LoadMem(asm.R0, asm.R1, e.Env.Fold.Fold.Slot(n.Slot), asm.DWord))
}

// storeElem writes an element of the list.
func (e *Eval) storeElem(n *expr.StoreElem) {
	c := e.Code
	mark := c.Stack
	value := c.Alloc(8)
	e.Num(n.X)
	c.Store(value, asm.R0)
	e.elem(n.Len, n.I)
	c.Load(asm.R0, value)
	c.Emit(asm.StoreMem(asm.R1, e.Env.Fold.Fold.Slot(n.Slot), asm.R0, asm.DWord))
	c.Stack = mark
}
