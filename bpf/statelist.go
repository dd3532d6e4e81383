package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// This file reads and writes the lists of a fold's state. The verifier wants to
// see that an index is in the list where it becomes part of an address: the
// comparison that fails the event tells it so.

// elem leaves the address of an element of the list in R1, but for the place of
// the list itself, which the access adds.
func (e foldState) elem(size int, i expr.Node) {
	c := e.code
	forward := c.label()
	e.num(i)
	c.ifImm(asm.JSGE, asm.R0, 0, forward)
	c.emit(asm.Add.Imm(asm.R0, int32(size))) // from the end
	c.place(forward)
	c.ifImm(asm.JGE, asm.R0, int32(size), e.fail)
	c.emit(asm.LSh.Imm(asm.R0, 3))
	c.load(asm.R1, e.env.stateAt())
	c.emit(asm.Add.Reg(asm.R1, asm.R0))
}

// loadElem leaves an element in R0.
func (e foldState) loadElem(n *expr.LoadElem) {
	e.elem(n.Len, n.I)
	e.code.emit(asm.LoadMem(asm.R0, asm.R1, e.env.fold.fold.slot(n.Slot), asm.DWord))
}

// storeElem writes one.
func (e foldState) storeElem(n *expr.StoreElem) {
	c := e.code
	mark := c.stack
	value := c.alloc(8)
	e.num(n.X)
	c.store(value, asm.R0)
	e.elem(n.Len, n.I)
	c.load(asm.R0, value)
	c.emit(asm.StoreMem(asm.R1, e.env.fold.fold.slot(n.Slot), asm.R0, asm.DWord))
	c.stack = mark
}
