package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file locks stacks of calls if several CPUs can have events of one key at the same time, as
// with a process or an address as the key. bpf_spin_lock is refused in programs of tracepoints and
// probes, so a lock is a word that is compared and exchanged, a limited number of times: an event
// that does not get the lock is lost, and counted. The words are in a table, by the key's hash. A
// word in the stack's own memory could belong to another stack when it is locked, since that memory
// is freed with the outermost call.

// locks is the number of locks, a power of two.
const locks = 1024

// hashFactor spreads keys over them: the prime of FNV.
const hashFactor = 16777619

// Lock locks a key for the running CPU, or jumps to busy; unlock frees the lock. cpu generates
// code that leaves the CPU's number in R8. Lock overwrites R7 to R9.
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
