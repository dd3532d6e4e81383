package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file asks operators and functions what the sources must deliver.

// needs settles the needs of the plan.
func (b *builder) needs() error {
	n := need{demand: newDemand(), events: b.plan.Events}
	for _, p := range b.programs {
		n.Program(p)
	}
	for _, c := range b.calls {
		n.Call(c, n.schemas(), n.probe)
	}
	for _, m := range b.machines {
		n.Call(m, n.schemas(), n.probe)
	}
	p := b.plan
	for _, op := range p.Operators {
		op.needs(b, &n)
	}
	if p.Pulls() {
		n.Order("events of several machines are related by time")
	}
	n.stacks(b)
	if n.Members[event.MemberComm] {
		n.Add(event.MemberTID)
		n.Order("comm: a thread's name changes when it executes another program")
		p.Comm = true
	}
	if n.Cgroups && b.env.Replay {
		n.Order("a recording tells of a cgroup when it is made") // a live run looks them up
	}
	if err := n.restrict(b); err != nil {
		return err
	}
	for f := range n.Members {
		p.SampleMembers = append(p.SampleMembers, f)
	}
	slices.Sort(p.SampleMembers)
	p.Watch, p.Cgroups = n.Traced, n.Cgroups
	p.Order, p.OrderWhy = n.Why != "", n.Why
	for _, e := range p.Events {
		e.NoRaw, e.inner = !n.Raw, b.served[e.Stream.Index]
	}
	return nil
}

// A need collects, while the plan is built, the data that its sources must
// deliver.
type need struct {
	demand
	events []*Event
}

// lines adds the fields that lines show. Events without a record show their
// sample members.
func (n *need) lines(b *builder) {
	n.Add(event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberComm)
	n.Raw = true
	n.Probes(n.schemas(), n.probe)
	for _, e := range b.plan.Events {
		fields := e.Stream.Schema.Fields
		for i := range fields {
			if n.Field(&fields[i]); fields[i].Member == event.MemberIP && fields[i].Place == event.InMember {
				b.plan.Mappings = true
			}
		}
	}
}

// line adds the sample members of perf's lines.
func (n *need) line(fields result.LineFields) {
	for _, x := range []struct {
		field  result.LineFields
		member event.Member
	}{
		{result.LinePeriod, event.MemberPeriod}, {result.LineAddr, event.MemberAddr},
		{result.LineWeight, event.MemberWeight}, {result.LineIP, event.MemberIP},
		{result.LinePhysAddr, event.MemberPhysAddr},
	} {
		if fields&x.field != 0 {
			n.Add(x.member)
		}
	}
}

// showsAround adds the fields that are shown of the events around a pair.
func (n *need) showsAround(b *builder) {
	n.lines(b)
	n.Order("what happened around a pair, or before a trigger, is shown in time order")
}

// probe reports that an event of the plan is one of a probe.
func (n *need) probe(i int) bool { return n.events[i].Source != nil && n.events[i].Source.Probe != nil }

// schemas returns the schemas of the plan's events.
func (n *need) schemas() []*event.Schema {
	var list []*event.Schema
	for _, e := range n.events {
		list = append(list, e.Stream.Schema)
	}
	return list
}
