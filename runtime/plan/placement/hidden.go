package placement

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan/graph"
)

// This file is about tracepoints to which other tools have attached BPF programs that return 0: perf gets
// none of their events then (hookcost.Hiding), and programs of ours get all. Programs take these events
// wherever they can, as those of idle tasks.

// hiding names the programs that hide an event's hits from perf; "" if there are none.
func (e *Env) hiding(s *event.Schema) string {
	if e.Hiding == nil || s == nil {
		return ""
	}
	return e.Hiding(s)
}

// hidden lists the graph's events that programs of other tools hide from perf, with these programs.
func (p *Placer) hidden() (list []string) {
	for _, e := range p.Events {
		if e.From != graph.ByPerf {
			continue
		}
		who := p.env.hiding(e.Schema)
		if text := e.Schema.FullName() + ", by " + who; who != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
