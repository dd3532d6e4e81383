package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file finds out what the sources must deliver. Every member of a sample
// costs the traced program time, so the kernel is asked for no more than what
// somebody reads; and time order costs a merge, so it is asked for only where
// it matters.

// Reader is a Callable that knows which names it reads of its event; exact is
// false if the event escapes its sight.
type Reader interface {
	Reads() (names []string, exact bool)
}

func (b *builder) needs() error {
	n := need{facts: map[event.Fact]bool{}}
	for _, p := range b.programs {
		n.program(p)
	}
	for _, c := range b.calls {
		n.call(c)
		n.callOfProbe(b.plan.Events, c)
	}
	for _, m := range b.machines {
		n.call(m)
		n.callOfProbe(b.plan.Events, m)
	}
	for _, f := range b.folds {
		n.add(event.FactTime)
		if !f.spec.ByRing {
			n.order("fold: the state of a key depends on the order of events")
		}
	}
	p := b.plan
	if len(p.Slows)+len(p.Triggers) > 0 {
		n.add(event.FactTime, event.FactTID, event.FactCPU, event.FactComm)
		n.raw = true
		n.order("what happened around a pair, or before a trigger, is shown in time order")
	}
	if len(p.Logs)+len(p.Slows) > 0 {
		n.probes(p.Events, nil)
	}
	if len(p.Logs) > 0 {
		n.add(event.FactTime, event.FactTID, event.FactCPU, event.FactComm)
		n.raw = true
		n.order("a log shows events in time order")
	}
	for _, l := range p.Logs {
		p.Overwrite = p.Overwrite || l.Spec.Newest
	}
	if len(p.Pushes) > 0 {
		n.add(event.FactTime, event.FactTID, event.FactCPU, event.FactPeriod, event.FactComm)
		n.raw = true
		n.order("events are sent in time order")
	}
	if p.Pulls() {
		n.order("events of several machines are related by time")
	}
	if len(p.Eachs) > 0 {
		n.order("a script function sees events in time order")
	}
	if len(p.Joins) > 0 {
		n.add(event.FactTime)
		for _, j := range b.joins {
			for i := range j.js.In {
				in := &j.js.In[i]
				if in.Wakeup != nil || in.NextPID != nil {
					n.add(event.FactTID, event.FactCPU)
					n.raw = true
				}
			}
			if j.js.ByRing {
				continue
			}
			n.order("join: starts and ends of one key may be in different rings")
		}
	}
	for _, t := range p.Tables {
		for _, a := range t.Spec.Aggs {
			if op := a.Agg.Op; op.Ordered {
				n.add(event.FactTime)
				n.order(op.Name + " depends on the order of events")
			}
		}
	}
	b.databases(&n)
	b.stacks(&n)
	if n.facts[event.FactComm] {
		n.add(event.FactTID)
		n.order("comm: a thread's name changes when it executes another program")
		p.Comm = true
	}
	if err := b.restrict(&n); err != nil {
		return err
	}
	for f := range n.facts {
		p.Facts = append(p.Facts, f)
	}
	slices.Sort(p.Facts)
	p.Watch = n.traced
	p.Order, p.OrderWhy = n.why != "", n.why
	for _, e := range p.Events {
		e.NoRaw = !n.raw
		if b.served[e.Stream.Index] {
			p.Router.Inner(e.Stream.Index)
		}
	}
	return nil
}

type need struct {
	facts map[event.Fact]bool
	raw   bool
	why   string
	// traced says that a function asks whether threads are to be traced.
	traced bool
}

func (n *need) add(facts ...event.Fact) {
	for _, f := range facts {
		switch f {
		case event.FactDelay:
			f = event.FactTime
		case event.FactPID:
			f = event.FactTID // one member holds both
		case event.FactIRQsOff, event.FactNeedResched:
			n.raw = true // their flags are there, if anywhere
		}
		n.facts[f] = true
	}
}

func (n *need) order(why string) {
	n.add(event.FactTime)
	if n.why == "" {
		n.why = why
	}
}

func (n *need) program(p *expr.Program) {
	expr.Walk(p.Node, func(x expr.Node) bool {
		switch x := x.(type) {
		case *expr.Field:
			switch x.F.Place {
			case event.InFact:
				n.field(x.F)
			case event.InSlot:
			default:
				n.raw = true
			}
		case *expr.Mem, *expr.CStr, *expr.MemBytes:
			n.raw = true
		case *expr.Native:
			n.traced = n.traced || x.Name == "traced"
		}
		return true
	})
}

// call adds what a script function reads. Names that are not facts are fields
// of the record.
func (n *need) call(c any) {
	n.raw = true
	names, exact := []string(nil), false
	if r, ok := c.(Reader); ok {
		names, exact = r.Reads()
	}
	if !exact {
		n.add(event.FactTime, event.FactTID, event.FactCPU, event.FactPeriod, event.FactComm)
		return
	}
	var s event.Schema
	for _, name := range names {
		if f, ok := s.Field(name); ok {
			n.add(f.Fact)
		}
		if name == "delay" {
			n.add(event.FactTime)
		}
	}
}
