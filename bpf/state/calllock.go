package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file locks stacks whose keys several CPUs may have events of at a time, such as a
// process, or an address. bpf_spin_lock is refused in programs of tracepoints and probes, so the
// lock is a word that is compared and exchanged, some times at most: an event that does not get it is
// lost, and counted. The words are in a table, by the key's hash: a word in a stack's own memory could
// belong to another stack by the time that it is taken, since that memory is given back with the
// outermost call.

// locks is how many there are, a power of two.
const locks = 1024

// hashFactor spreads keys over them: the prime of FNV.
const hashFactor = 16777619

// Lock takes the lock of a key for the CPU whose number cpu leaves in R8, or jumps to busy; unlock
// gives it back. R7 to R9 are lost.
func (c *CallStacks) Lock(key int16, cpu func(), busy assembler.Label) (unlock func()) {
	at := c.Alloc(8)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	for off := 0; off < c.KeyRoom; off += 8 {
		c.Load(asm.R1, key+int16(off))
		c.Emit(asm.Xor.Reg(asm.R0, asm.R1), asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 29),
			asm.Xor.Reg(asm.R0, asm.R1), asm.Mul.Imm(asm.R0, hashFactor))
	}
	c.Emit(asm.RSh.Imm(asm.R0, 12), asm.And.Imm(asm.R0, locks-1))
	c.Store(at, asm.R0)
	c.Get(load.LockMap.Of(c.Join), at, busy)
	c.Store(at, asm.R0)
	cpu()
	assembler.Lock(c.Code, at, asm.R8, 0, busy)
	return func() { assembler.Unlock(c.Code, at, 0) }
}
