package assembler

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// This file has the scratch memory of a program, for data that does not fit its stack: the only
// value of a per-CPU map. The program has it for itself while it runs: the kernel runs no other
// instance of the program on the CPU meanwhile, or package hook prevents that (Hook.Alone,
// Host.Guarded).
//
// Nearly all programs have room for their texts, keys and records on the stack. A program that has
// not is generated again with Spills: it looks up the address of the memory once for each event,
// and its large places lie there.

// scratchSize bounds scratch memory: the kernel's PCPU_MIN_UNIT_SIZE, the largest value of a
// per-CPU map.
const scratchSize = 32 << 10

// Memory is the number of bytes that a program uses of its stack and of its
// scratch memory.
type Memory struct{ stack, scratch int }

// AllocScratch reserves n bytes of scratch memory, 8-aligned, and returns their place there.
// c.Stack = mark frees them too.
func (c *Code) AllocScratch(n int) (at int) {
	at = c.Stack.scratch
	c.Stack.scratch += (n + 7) &^ 7
	c.peak.scratch = max(c.peak.scratch, c.Stack.scratch)
	if c.Stack.scratch > scratchSize {
		Refuse("needs more than %d bytes of memory beside its stack", scratchSize)
	}
	return at
}

// ScratchAddr leaves the address of a place of the scratch memory in R0; it jumps to missing if there is
// none, which does not happen.
func (c *Code) ScratchAddr(at int, missing Label) {
	if c.base != 0 {
		c.Addr(asm.R0, int16(at))
		return
	}
	mark := c.Stack
	key := c.AllocStack(8)
	c.Zero(key, 8)
	c.Get(c.Scratch, key, missing)
	if at > 0 {
		c.Emit(asm.Add.Imm(asm.R0, int32(at)))
	}
	c.Stack = mark
}

// FindScratch makes a program that spills look up its scratch memory, once; from then on Alloc
// reserves large places there. It jumps to missing as ScratchAddr does. It overwrites R0 to R5.
func (c *Code) FindScratch(missing Label) {
	if c.Spills == 0 {
		return
	}
	c.AllocScratch(8) // 0 is no place
	base := c.AllocStack(8)
	c.ScratchAddr(0, missing)
	c.Store(base, asm.R0)
	c.base = base
}

// ScratchMap is the map of the scratch memory; nil if the program needs none.
func (c *Code) ScratchMap() *ebpf.MapSpec {
	if c.peak.scratch == 0 {
		return nil
	}
	return &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(c.peak.scratch), MaxEntries: 1}
}
