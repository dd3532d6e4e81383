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
	p := b.plan
	for _, op := range p.Operators {
		op.needs(b, &n)
	}
	if p.Pulls() {
		n.order("events of several machines are related by time")
	}
	n.stacks(b)
	if n.facts[event.FactComm] {
		n.add(event.FactTID)
		n.order("comm: a thread's name changes when it executes another program")
		p.Comm = true
	}
	if err := n.restrict(b); err != nil {
		return err
	}
	for f := range n.facts {
		p.Facts = append(p.Facts, f)
	}
	slices.Sort(p.Facts)
	p.Watch = n.traced
	p.Order, p.OrderWhy = n.why != "", n.why
	for _, e := range p.Events {
		e.NoRaw, e.inner = !n.raw, b.served[e.Stream.Index]
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

// lines adds what the lines of the plan's events have: of events without a
// record they show the facts.
func (n *need) lines(b *builder) {
	n.add(event.FactTime, event.FactTID, event.FactCPU, event.FactComm)
	n.raw = true
	n.probes(b.plan.Events, nil)
	for _, e := range b.plan.Events {
		fields := e.Stream.Schema.Fields
		for i := range fields {
			if n.field(&fields[i]); fields[i].Fact == event.FactIP && fields[i].Place == event.InFact {
				b.plan.Mappings = true
			}
		}
	}
}

// showsAround adds what is shown of the events around another.
func (n *need) showsAround(b *builder) {
	n.lines(b)
	n.order("what happened around a pair, or before a trigger, is shown in time order")
}

func (n *need) program(p *expr.Program) {
	for _, f := range p.Uses.Fields {
		switch f.F.Place {
		case event.InFact:
			n.field(f.F)
		case event.InSlot:
		default:
			n.raw = true
		}
	}
	n.raw = n.raw || p.Uses.Memory
	n.traced = n.traced || p.Uses.Any(expr.AsksThreads)
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
