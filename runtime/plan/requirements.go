package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file collects the data that sources of events must deliver. Every sample member costs the
// traced program time, so the kernel is asked only for members that are read. Time order costs a
// merge, so it is asked for only where it matters. Operators and functions add their needs here.

// A reader is a script's function that knows which fields of its event it reads; exact
// is false if the event is passed on, so that more may be read.
type reader interface {
	Reads() (names []string, exact bool)
}

// A demand is the data that sources must deliver. Make one with newDemand.
type demand struct {
	Members map[event.Member]bool
	// Raw says that the tracepoint's own bytes are read.
	Raw bool
	// Cgroups says that the container, pod or unit of the events is read.
	Cgroups bool
	// Traced says that a function calls traced().
	Traced bool
	// Why names the operator that needs time order; "" if none does.
	Why string
}

// newDemand makes an empty demand.
func newDemand() demand { return demand{Members: map[event.Member]bool{}} }

// Add adds sample members.
func (d *demand) Add(members ...event.Member) {
	for _, f := range members {
		switch f {
		case event.MemberDelay:
			f = event.MemberTime
		case event.MemberCommNoDigit:
			f = event.MemberComm
		case event.MemberCgroupPath, event.MemberContainer, event.MemberPod, event.MemberUnit:
			// Where samples have no cgroup, it is looked up by process.
			d.Members[event.MemberTID], d.Cgroups = true, true
			f = event.MemberCgroup
		case event.MemberPID:
			f = event.MemberTID // one member holds both
		case event.MemberIRQsOff, event.MemberNeedResched:
			d.Raw = true // the raw record has their flags, if anything has
		}
		d.Members[f] = true
	}
}

// Order asks for time order; why names the operator that needs it.
func (d *demand) Order(why string) {
	d.Add(event.MemberTime)
	if d.Why == "" {
		d.Why = why
	}
}

// Program adds what a program reads.
func (d *demand) Program(p *expr.Program) {
	for _, f := range p.Uses.Fields {
		switch f.F.Place {
		case event.InMember:
			d.Field(f.F)
		case event.InSlot:
		default:
			d.Raw = true
		}
	}
	d.Raw = d.Raw || p.Uses.Memory
	d.Traced = d.Traced || p.Uses.Any(expr.AsksThreads)
}

// Field adds a sample member that a program reads, and the members that it is
// computed from.
func (d *demand) Field(f *event.Field) {
	if f.Place != event.InMember {
		return
	}
	d.Add(f.Member)
	d.Add(f.Uses()...)
}

// Call adds the fields that an interpreted function reads; probes are the schemas of
// the events. Names that are not sample members are fields of the record.
func (d *demand) Call(c any, schemas []*event.Schema, isProbe func(i int) bool) {
	d.Raw = true
	names, exact := []string(nil), false
	if r, ok := c.(reader); ok {
		names, exact = r.Reads()
	}
	if !exact {
		d.Add(event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberPeriod, event.MemberComm)
		d.Probes(schemas, isProbe)
		return
	}
	var s event.Schema
	for _, name := range names {
		if f, ok := s.Field(name); ok {
			d.Add(f.Member)
		}
		if name == "delay" {
			d.Add(event.MemberTime)
		}
		for _, s := range schemas {
			if f, ok := s.Field(name); ok && f.Member >= event.MemberReg {
				d.Field(f)
			}
		}
	}
}

// OnlyProbes calls Probes for the events that are probes. Registers of other events are not
// read.
func (d *demand) OnlyProbes(schemas []*event.Schema, isProbe func(i int) bool) {
	for i := range schemas {
		if isProbe(i) {
			d.Probes(schemas[i:i+1], func(int) bool { return true })
		}
	}
}

// Probes adds the sample members of probes: all numbers.
func (d *demand) Probes(schemas []*event.Schema, isProbe func(i int) bool) {
	for i, s := range schemas {
		for k := range s.Fields {
			if f := &s.Fields[k]; f.Member >= event.MemberReg || isProbe(i) {
				d.Field(f)
			}
		}
	}
}
