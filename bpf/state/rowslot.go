package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file generates the fast way to a row: slots, a per-CPU array in which each key has one
// slot. The first key of a slot keeps it until the rows are read and emptied; later keys of
// the same slot have their rows in the hash. So each key has one row on a CPU, in either
// place.
//
// A look-up in an array is a few instructions of the program itself. A look-up in a hash calls
// a function, which hashes the key and compares it byte by byte: it costs more than all the
// rest of counting.

// RowSlots is the number of slots, a power of two.
const RowSlots = 1 << slotBits

const slotBits = 9

// spread is a prime near 2^64 divided by the golden ratio: products with it have bits that
// depend on all lower ones.
const spread = -0x61c8864680b583eb

// RowSlot jumps to found, with the row in R0, if the slot of a key belongs to that key or was
// free; a free slot then belongs to the key.
func RowSlot(c *assembler.Code, t *load.Table, m load.MapID, key int16, found assembler.Label) {
	mark := c.Stack
	have, used, other := c.Label(), c.Label(), c.Label()
	place(c, t, key)
	index := c.Alloc(8)
	c.Emit(asm.StoreMem(asm.R10, index, asm.R0, asm.Word))
	c.Look(m, index, have)
	c.GoTo(other)
	c.Place(have)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, load.HitsAt, asm.DWord))
	c.IfImm(asm.JNE, asm.R1, 0, used)
	for off := 0; off < t.KeyLen; off += 8 {
		c.Load(asm.R1, key+int16(off))
		c.Emit(asm.StoreMem(asm.R0, int16(t.Value.Size+off), asm.R1, asm.DWord))
	}
	c.GoTo(found)
	c.Place(used)
	for off := 0; off < t.KeyLen; off += 8 {
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(t.Value.Size+off), asm.DWord))
		c.Load(asm.R2, key+int16(off))
		c.IfReg(asm.JNE, asm.R1, asm.R2, other)
	}
	c.GoTo(found)
	c.Place(other)
	c.Stack = mark
}

// place leaves in R0 the number of the slot of a key.
func place(c *assembler.Code, t *load.Table, key int16) {
	if len(t.Cols) == 0 {
		c.Emit(asm.Mov.Imm(asm.R0, 0))
		return
	}
	c.Load(asm.R0, key)
	if len(t.Cols) == 1 && !t.Cols[0].Text {
		// Small numbers (system calls, interrupts, CPUs) have a slot each, and addresses,
		// whose lowest bits are 0, have different ones.
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, slotBits), asm.Xor.Reg(asm.R0, asm.R1),
			asm.And.Imm(asm.R0, RowSlots-1))
		return
	}
	c.Constant(asm.R1, spread)
	c.Emit(asm.Mul.Reg(asm.R0, asm.R1))
	for off := 8; off < t.KeyLen; off += 8 {
		c.Load(asm.R2, key+int16(off))
		c.Emit(asm.Xor.Reg(asm.R0, asm.R2), asm.Mul.Reg(asm.R0, asm.R1))
	}
	c.Emit(asm.RSh.Imm(asm.R0, 64-slotBits))
}
