package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
)

// Mergeable reports that several Groups of the spec can each take a part of the
// events and be added up. That is so if nothing depends on the order of events.
func (s *Spec) Mergeable() bool {
	for i := range s.Aggs {
		a := &s.Aggs[i]
		if a.Op.New == nil {
			continue // a Measure adds up
		}
		if _, ok := a.Op.New(a, new(Workspace)).(merger); !ok {
			return false
		}
	}
	return true
}

// Merge adds all rows of o, a Group of the same Spec. New rows are appended in
// o's order.
func (g *Group) Merge(o *Group) {
	g.events += o.events
	g.work.evicted += o.work.evicted
	if g.errs.N += o.errs.N; g.errs.First == nil {
		g.errs.First = o.errs.First
	}
	if o.rest != nil {
		g.others().Merge(o.rest)
	}
	switch {
	case o.ints != nil:
		keys := make([]int64, len(o.rows))
		o.ints.Each(func(k int64, r int32) { keys[r] = k })
		for from, k := range keys {
			to, fresh := g.ints.Insert(k)
			g.mergeRow(o, int32(from), to, fresh)
		}
	case o.texts != nil:
		for from := range o.rows {
			to, fresh := g.texts.Insert(o.texts.Key(int32(from)))
			g.mergeRow(o, int32(from), to, fresh)
		}
	case len(o.rows) > 0:
		g.mergeRow(o, 0, 0, len(g.rows) == 0)
	}
}

func (g *Group) mergeRow(o *Group, from, to int32, fresh bool) {
	n := len(g.spec.Args)
	if to == key.None {
		// As if its events had come one by one.
		for i := range o.measures[int(from)*n : int(from)*n+min(n, 1)] {
			g.work.evicted += o.measures[int(from)*n+i].N
		}
		rest := g.others()
		rest.mergeRow(o, from, 0, len(rest.rows) == 0)
		return
	}
	if fresh {
		g.fresh(to, &event.Event{Time: o.rows[from].first})
	}
	for i := range n {
		g.measures[int(to)*n+i].Merge(&o.measures[int(from)*n+i])
		for _, slot := range g.spec.Args[i].slots {
			g.states[int(to)*g.stride+slot].(merger).Merge(o.states[int(from)*g.stride+slot])
		}
	}
}
