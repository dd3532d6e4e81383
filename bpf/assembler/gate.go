package assembler

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file lets a budget decide which events count, before anything else is done with them.
// One word says how many events each that counts stands for: 1 is all of them, 64 one of 64 by
// chance, 0 none. What counts keeps the weight of its moment, so that the word can change at any
// time. Each hit is counted, and of one in some the time is taken, so that it is known what the
// program costs: the kernel's own statistics would slow down all programs of the machine.

// timed is of how many hits the time of one is taken, a power of two.
const timed = 64

// A Weight is the place of the stack with the weight of the event; 0 is none: all events count.
type Weight int16

// A Gate is the begin of a program, which its end completes.
type Gate struct {
	Weight Weight
	began  int16
	stats  load.MapID
}

// NewGate jumps to exit with the events that do not count; all count unless weighed. stats are the
// counters of the program.
func NewGate(c *Code, weighed bool, stats load.MapID, exit Label) Gate {
	if !weighed {
		return Gate{}
	}
	g := Gate{Weight: Weight(c.Alloc(8)), began: c.Alloc(8), stats: stats}
	w := int16(g.Weight)
	open, decide := c.Label(), c.Label()
	c.Zero(g.began, 8)
	c.Zero(w, 8)
	c.Get(stats, w, exit)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 8*load.StatHits, asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 8*load.StatHits, asm.R1, asm.DWord), asm.And.Imm(asm.R1, timed-1))
	c.IfImm(asm.JNE, asm.R1, 0, decide)
	c.Call(asm.FnKtimeGetNs)
	c.Store(g.began, asm.R0)
	c.Place(decide)
	c.MapValue(asm.R1, load.WeightMap.Of(), 0)
	c.Emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
	c.Store(w, asm.R1)
	c.IfImm(asm.JEq, asm.R1, 1, open)
	c.IfImm(asm.JEq, asm.R1, 0, exit)
	c.Call(asm.FnGetPrandomU32)
	c.Load(asm.R1, w)
	c.Emit(asm.Sub.Imm(asm.R1, 1), asm.And.Reg(asm.R0, asm.R1))
	c.IfImm(asm.JNE, asm.R0, 0, exit)
	c.Place(open)
	return g
}

// End stands where the program ends, whichever way it went.
func (g Gate) End(c *Code) {
	if g.Weight == 0 {
		return
	}
	over := c.Label()
	c.Load(asm.R1, g.began)
	c.IfImm(asm.JEq, asm.R1, 0, over)
	c.Call(asm.FnKtimeGetNs)
	c.Load(asm.R1, g.began)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R1))
	c.Store(g.began, asm.R0)
	c.Zero(int16(g.Weight), 8)
	c.Get(g.stats, int16(g.Weight), over)
	c.Load(asm.R2, g.began)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 8*load.StatTime, asm.DWord), asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R0, 8*load.StatTime, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R0, 8*load.StatTimed, asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 8*load.StatTimed, asm.R1, asm.DWord))
	c.Place(over)
}
