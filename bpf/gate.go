package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file lets events into operators, and counts them.

// generations is the number of copies of maps that are read while events come.
func (s *graph) generations() int {
	if s.intervals {
		return 2
	}
	return 1
}

// A gate lets the events of a program into an operator. The types that generate
// operators embed it.
type gate struct {
	code *code
	eval *eval
	// counted is the one feed of an event that is counted: events that its
	// predicates leave out do not count. Events that feed several count for
	// all.
	counted *feed
}

// takes goes on with events that f's predicates let through. If one
// cannot be evaluated, it jumps to the failure label.
func (g *gate) takes(f *feed, others label) {
	for _, p := range f.preds {
		g.eval.test(p, false, others)
	}
	if f == g.counted {
		g.count(load.StatTaken)
	}
}

// count adds 1 to a statistic. R0 to R5 are lost.
func (g *gate) count(stat int) {
	c := g.code
	if c.Dead() {
		return
	}
	mark := c.Stack
	skip := c.Label()
	k := c.Alloc(8)
	c.Zero(k, 8)
	c.Get(load.StatsMap.Of(g.eval.hook.Index), k, skip)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8*stat), asm.DWord), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, int16(8*stat), asm.R1, asm.DWord))
	c.Place(skip)
	c.Stack = mark
}
