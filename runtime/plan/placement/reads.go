package placement

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
)

// This file makes programs send data from the kernel's memory that functions in
// ppscript read.

// reads adds these reads to the records of their events.
func (c *projector) reads() error {
	for _, u := range c.p.Reads.Contexts {
		if u.Read == nil || c.p.evaluated[u.Prog] || c.isMoved(u.Prog) {
			continue
		}
		sent := false
		for i, ev := range c.part.Events {
			if ev.Schema == u.Schema && (!u.Optional || c.runs(ev, &expr.Field{F: u.Read})) {
				addRead(c.part.Edges[i].Send, u.Read)
				sent = true
			}
		}
		if !sent && !u.Optional {
			return not("%s is not of an event itself: name it with let() there", u.Name)
		}
	}
	return nil
}

func addRead(r *graph.Record, f *event.Field) {
	if !slices.ContainsFunc(r.Fields, func(have *expr.Field) bool { return have.F == f }) {
		r.Fields = append(r.Fields, &expr.Field{F: f})
	}
}
