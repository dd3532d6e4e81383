package bpf

import (
	"github.com/cilium/ebpf"

	"ppscript/runtime/expr"
)

// This file says what programs can do before any is generated. The generator
// itself walks what is asked about, with code that keeps nothing: a table of its
// abilities beside it would be a second truth, which one day says something else.
//
// What a Host cannot know is left to Generate and to the kernel: a program that
// is too long, or that the verifier does not understand.

// Can says whether a program of an event can evaluate an expression on it: nil,
// or a *Refusal that says why not.
func Can(n expr.Node, e *Event, host *Host) (err error) {
	defer caught(new(*Image), &err)
	s := &graph{sources: []*source{{Event: e}}}
	g := &gen{
		code:  dryCode(),
		host:  host,
		graph: s,
		image: &Image{host: host, Target: &Target{}, graph: s},
		kind:  ebpf.TracePoint,
	}
	if e.Sampled {
		g.kind = ebpf.PerfEvent
	}
	g.pickRaw(s.sources[0], []expr.Node{n})
	g.fail = g.code.label()
	g.foresee(n)
	if n.Type().Kind == expr.Str {
		g.alloc(n)
	} else {
		g.value(n)
	}
	return nil
}

// foresee has the sample members fetched that n reads.
func (g *gen) foresee(n expr.Node) {
	var pid, cpu, time bool
	g.needs(n, &pid, &cpu, &time)
	g.target(&Target{}, nil, pid, cpu, g.fail)
	g.context([]expr.Node{n})
}

// Can says whether a part can run in the kernel: nil, or a *Refusal that says why
// not.
func (p *Part) Can(host *Host, t *Target) error {
	_, err := generate(p, host, t, dryCode)
	return err
}

func dryCode() *code {
	c := newCode()
	c.dry = true
	return c
}
