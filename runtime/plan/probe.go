package plan

import (
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
)

// This file is about dynamic probes and breakpoints as sources, and the members
// that their computed fields need.

// ProbeSource makes a source of a probe.
func ProbeSource(spec probe.Spec) *Source {
	return &Source{Spec: eventspec.Spec{Kind: eventspec.Probe, Name: spec.Name, Probe: &spec}}
}

// SayMissed names return probes of the kernel whose returns may be missing. It is for
// events that come through rings, where missed returns are not counted.
func (p *Plan) SayMissed(say func(format string, args ...any)) {
	if p.projected {
		return // the code that attaches the programs says it
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
