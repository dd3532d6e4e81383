package plan

import (
	"strconv"

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

// SayMissed says of which return probes of the kernel returns may be missing. It is for
// events that come in rings: nobody counts there what a probe missed.
func (p *Plan) SayMissed(say func(format string, args ...any)) {
	if p.projected {
		return // those who attach the programs say it
	}
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
