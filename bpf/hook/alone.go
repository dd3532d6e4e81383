package hook

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file keeps programs of probes from interrupting each other on a CPU.

// Alone makes sure that the program runs only once at a time on its CPU, until the code of the
// returned function. Programs in user code can be preempted from 6.0 on: another thread could
// write the row that this one is about to write. If preemption cannot be disabled, the event
// of the second thread is dropped, and counted as lost. For programs that functions of the
// kernel call through a trampoline, the kernel itself drops and counts the second run.
func (h *Hook) Alone(exit assembler.Label) (end func()) {
	if h.Direct != nil {
		end, _ = h.preemption()
		return end
	}
	if h.Event.Probe == nil || !h.Event.Probe.User || !h.Host.Preempted {
		return func() {}
	}
	if on, ok := h.preemption(); ok {
		return on
	}
	c := h.Code
	first := c.Label()
	at := c.Alloc(8)
	c.Zero(at, 8)
	c.Get(load.BusyMap.Of(h.Index), at, exit)
	c.Store(at, asm.R0)
	c.Emit(asm.Mov.Imm(asm.R1, 1), assembler.Exchange(asm.FetchAdd, asm.R0, asm.R1, 0))
	c.IfImm(asm.JEq, asm.R1, 0, first)
	c.Count(load.StatsMap.Of(h.Index), load.StatLost)
	release(c, at)
	c.GoTo(exit)
	c.Place(first)
	return func() { release(c, at) }
}

// release marks the CPU as free for further runs of the program.
func release(c *assembler.Code, at int16) {
	c.Load(asm.R0, at)
	c.Emit(asm.Mov.Imm(asm.R1, -1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
}
