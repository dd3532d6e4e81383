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
	n := need{members: map[event.Member]bool{}}
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
	if n.members[event.MemberComm] {
		n.add(event.MemberTID)
		n.order("comm: a thread's name changes when it executes another program")
		p.Comm = true
	}
	if err := n.restrict(b); err != nil {
		return err
	}
	for f := range n.members {
		p.SampleMembers = append(p.SampleMembers, f)
	}
	slices.Sort(p.SampleMembers)
	p.Watch = n.traced
	p.Order, p.OrderWhy = n.why != "", n.why
	for _, e := range p.Events {
		e.NoRaw, e.inner = !n.raw, b.served[e.Stream.Index]
	}
	return nil
}

type need struct {
	members map[event.Member]bool
	raw     bool
	why     string
	// traced says that a function asks whether threads are to be traced.
	traced bool
}

func (n *need) add(members ...event.Member) {
	for _, f := range members {
		switch f {
		case event.MemberDelay:
			f = event.MemberTime
		case event.MemberPID:
			f = event.MemberTID // one member holds both
		case event.MemberIRQsOff, event.MemberNeedResched:
			n.raw = true // their flags are there, if anywhere
		}
		n.members[f] = true
	}
}

func (n *need) order(why string) {
	n.add(event.MemberTime)
	if n.why == "" {
		n.why = why
	}
}

// lines adds what the lines of the plan's events have: of events without a
// record they show the sample members.
func (n *need) lines(b *builder) {
	n.add(event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberComm)
	n.raw = true
	n.probes(b.plan.Events, nil)
	for _, e := range b.plan.Events {
		fields := e.Stream.Schema.Fields
		for i := range fields {
			if n.field(&fields[i]); fields[i].Member == event.MemberIP && fields[i].Place == event.InMember {
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
		case event.InMember:
			n.field(f.F)
		case event.InSlot:
		default:
			n.raw = true
		}
	}
	n.raw = n.raw || p.Uses.Memory
	n.traced = n.traced || p.Uses.Any(expr.AsksThreads)
}

// call adds what a script function reads. Names that are not sample members are fields
// of the record.
func (n *need) call(c any) {
	n.raw = true
	names, exact := []string(nil), false
	if r, ok := c.(Reader); ok {
		names, exact = r.Reads()
	}
	if !exact {
		n.add(event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberPeriod, event.MemberComm)
		return
	}
	var s event.Schema
	for _, name := range names {
		if f, ok := s.Field(name); ok {
			n.add(f.Member)
		}
		if name == "delay" {
			n.add(event.MemberTime)
		}
	}
}
