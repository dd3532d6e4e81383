package assembler

import (
	"runtime"

	"github.com/cilium/ebpf/asm"
)

// This file locks memory that programs on several CPUs change. One word of the memory is the
// lock: 0 if it is free, else the number of the CPU that holds it, plus 1.

// lockTries bounds how long a program waits: some 50 us. The verifier follows every turn of
// the loop.
const lockTries = 1024

// Lock locks the memory whose address is at a place. The lock is the word at off; cpu is the
// register with the number of the CPU, which Lock changes. It jumps to busy if it cannot get
// the lock. It overwrites R7 and R9.
func Lock(c *Code, memory int16, cpu asm.Register, off int16, busy Label) {
	taken := c.Label()
	c.Load(asm.R7, memory)
	c.Emit(asm.Add.Imm(cpu, 1), asm.Mov.Imm(asm.R9, 0))
	next := c.Loop()
	c.Emit(asm.Mov.Imm(asm.R0, 0), Exchange(asm.CmpXchg, asm.R7, cpu, off))
	c.IfImm(asm.JEq, asm.R0, 0, taken)
	c.IfReg(asm.JEq, asm.R0, cpu, busy)
	c.Emit(asm.Add.Imm(asm.R9, 1))
	c.IfImm(asm.JGE, asm.R9, lockTries, busy)
	c.Call(asm.FnKtimeGetNs) // to let some time pass
	c.Again(next)
	c.Place(taken)
}

// Unlock frees the lock. On amd64 a plain store is enough: other CPUs see
// stores in their order.
func Unlock(c *Code, memory, off int16) {
	c.Load(asm.R2, memory)
	if runtime.GOARCH == "amd64" {
		c.Emit(StoreImm(asm.R2, off, 0))
		return
	}
	c.Emit(asm.Mov.Imm(asm.R0, 0), Exchange(asm.Xchg, asm.R2, asm.R0, off))
}
