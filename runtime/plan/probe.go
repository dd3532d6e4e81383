package plan

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/probe"
)

// This file is about dynamic probes and breakpoints as sources, and the members
// that their computed fields need.

// ProbeSource makes a source of a probe.
func ProbeSource(spec probe.Spec) *Source {
	return &Source{Kind: Probe, Name: spec.Name, Probe: &spec}
}

// dynamic reports that a source is a probe that the kernel plants: in its own code or
// in that of a program.
func (s *Source) dynamic() bool { return s.Probe != nil && s.Probe.Kind != probe.Breakpoint }

// filterText is the source's filter with the source's own condition: the
// memory and files of a process are meant for that process only.
func (s *Source) filterText() string {
	if s.Probe == nil || s.Probe.PID == 0 {
		return s.Filter
	}
	own := "_pid == " + strconv.Itoa(s.Probe.PID)
	if s.Filter == "" {
		return own
	}
	return own + " && (" + s.Filter + ")"
}

// field adds a sample member that a program reads and all that it is computed from.
func (n *need) field(f *event.Field) {
	if f.Place != event.InMember {
		return
	}
	n.add(f.Member)
	n.add(f.Uses()...)
}

// probes adds the sample members of probes that are read by name, or all numbers if
// names is nil.
func (n *need) probes(events []*Event, names []string) {
	for _, e := range events {
		s := e.Stream.Schema
		if names == nil {
			for i := range s.Fields {
				if s.Fields[i].Member >= event.MemberReg || e.Source != nil && e.Source.Probe != nil {
					n.field(&s.Fields[i])
				}
			}
		}
		for _, name := range names {
			if f, ok := s.Field(name); ok && f.Member >= event.MemberReg {
				n.field(f)
			}
		}
	}
}

// callOfProbe adds the members of probes that an interpreted function reads.
func (n *need) callOfProbe(events []*Event, c any) {
	if r, ok := c.(Reader); ok {
		if names, exact := r.Reads(); exact {
			n.probes(events, append(names, "")) // not nil
			return
		}
	}
	n.probes(events, nil)
}

// SayMissed says of which return probes of the kernel returns may be missing. It is for
// events that come in rings: nobody counts there what a probe missed.
func (p *Plan) SayMissed(say func(format string, args ...any)) {
	var labels []string
	for _, e := range p.Events {
		if s := e.Source.Probe; s != nil && s.Kind == probe.Kretprobe {
			labels = append(labels, e.Stream.Label)
		}
	}
	if len(labels) > 0 {
		say("%s", probe.MissedReturns(labels[0], len(labels)-1))
	}
}
