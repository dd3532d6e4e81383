package bpf

import (
	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/bpf/walk"
)

// This file lets events into operators, and counts them.

// generations is the number of copies of maps that are read while events come.
func (s *layout) generations() int {
	if s.intervals {
		return 2
	}
	return 1
}

// A gate lets the events of a program into an operator. The types that generate
// operators embed it.
type gate struct {
	code *code
	eval *eval.Eval
	// counted is the feed of an event that has only one: events that its
	// predicates reject are then not counted. If an event has several feeds,
	// all its occurrences count.
	counted *feed
	// walk finds stacks.
	walk *walk.Stacks
	// share decides, with a budget, whether the event or its key counts, and with which
	// weight.
	share state.KeyShare
}

// byKey reports that a budget leaves out whole keys, not single events, so that joins and folds
// get all events of a key.
func byKey(s *layout) bool { return s.weighed && len(s.joins)+len(s.folds) > 0 }

// takes goes on with events that f's predicates let through. If one
// cannot be evaluated, it jumps to the failure label.
func (g *gate) takes(f *feed, others label) {
	for _, p := range f.preds {
		g.eval.Test(p, false, others)
	}
	if f == g.counted {
		g.count(load.StatTaken)
	}
	if f.stat > 0 {
		g.count(f.stat)
	}
}

// count adds 1 to a statistic. R0 to R5 are lost.
func (g *gate) count(stat int) { g.code.Count(load.StatsMap.Of(g.eval.Hook.Index), stat) }
