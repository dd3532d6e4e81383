package bpf

import (
	"ppscript/bpf/assembler"
	"ppscript/bpf/chain"
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
	// walk finds stacks.
	walk   *chain.Walker
	weight assembler.Weight // of the event
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
func (g *gate) count(stat int) { g.code.Count(load.StatsMap.Of(g.eval.hook.Index), stat) }
