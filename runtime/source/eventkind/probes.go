package eventkind

import (
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/glob"
)

// probes are the resolved probes of a session. Each source is resolved once, so
// that its schemas stay the same when the plan is built again.
type probes struct {
	resolver probe.Resolver
	found    map[*plan.Source][]*event.Schema
	of       map[*event.Schema]*probe.Probe
}

// probeEvents are dynamic probes and breakpoints.
type probeEvents struct{}

func (probeEvents) names(s *plan.Source) bool { return s.Probe != nil }

// find resolves a source. The user gets the notes about it once.
func (probeEvents) find(c *Finder, s *plan.Source) ([]*event.Schema, error) {
	p := &c.probes
	if have := p.found[s]; have != nil {
		return have, nil
	}
	p.resolver.Kernel = c.Symbols
	if p.resolver.Types == nil {
		p.resolver.Types = kerneltype.Running()
	}
	p.resolver.PID = c.PID
	p.resolver.Place = func(dst []byte, e *event.Event, ip uint64) []byte {
		if c.Place != nil {
			return c.Place(dst, e, ip)
		}
		return append(dst, c.Symbols.Text(ip)...)
	}
	list, err := p.resolver.Resolve(*s.Probe)
	if err != nil {
		return nil, err
	}
	if p.of == nil {
		p.of, p.found = map[*event.Schema]*probe.Probe{}, map[*plan.Source][]*event.Schema{}
	}
	for _, pr := range list {
		p.of[pr.Schema] = pr
		p.found[s] = append(p.found[s], pr.Schema)
		if pr.Note != "" {
			c.Say(pr.Note)
		}
	}
	return p.found[s], nil
}

func (probeEvents) recorded(s *plan.Source, schema *event.Schema) bool {
	return glob.Match(s.Probe.Kind.String(), schema.System) && glob.Match(s.Name, schema.Name)
}

// configure sets the parameters that only probes have.
func (probeEvents) configure(c *Finder, ev *perf.EventConfig, _ *plan.Source, members []event.Member) {
	pr := c.probes.of[ev.Schema]
	if pr == nil {
		return
	}
	ev.Config1, ev.Config2, ev.Config1Text, ev.BPType = pr.Config1, pr.Config2, pr.Config1Text, pr.BPType
	ev.RegsIntr = probe.RegsIntr(ev.Schema, members)
	ev.StackUser = probe.StackUser(ev.Schema, members)
}
