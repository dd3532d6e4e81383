package placement

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/system/kernel"
)

// This file is about events that happen while a CPU is idle. On some machines perf delivers no such event of
// one CPU, or only its interrupts (kernel.TryIdle), and programs of the kernel see them all: there, programs
// take the events wherever they can, at whatever price, since without them each thread that is woken on an
// idle CPU seems not to run. Samples come of perf alone, so that nobody sees samples that do not come.

// interrupts are systems whose events are about interrupts, or happen in them: also while a CPU is idle.
var interrupts = []string{
	"irq", "irq_vectors", "timer", "power", "ipi", "block", "napi", "net", "skb", "tcp",
	"workqueue",
}

// idlePart is the part of the idle task's events that an event belongs to, if any of them may happen there.
func idlePart(s *event.Schema) (part kernel.IdlePart, ok bool) {
	switch {
	case s == nil:
	case s.System == "software" && s.Name == "cpu-clock":
		return kernel.IdleSamples, true
	case s.System == "sched" && s.Name == "sched_switch":
		return kernel.IdleSwitches, true
	case s.System == "sched" && (s.Name == "sched_wakeup" || s.Name == "sched_waking"),
		slices.Contains(interrupts, s.System):
		return kernel.IdleInterrupts, true
	}
	return 0, false
}

// idleOf are the CPUs of whose idle task perf delivers no events of a part; "" if none is known.
func (e *Env) idleOf(part kernel.IdlePart) string {
	if e.Idle == nil {
		return ""
	}
	return e.Idle(part)
}

// Unseen reports that perf does not deliver some of these events, which programs see.
func (e *Env) Unseen(events ...*event.Schema) bool {
	return slices.ContainsFunc(events, func(s *event.Schema) bool {
		part, ok := idlePart(s)
		return ok && part != kernel.IdleSamples && e.idleOf(part) != ""
	})
}

// unseen is for each part that an event of the graph belongs to, if programs could take it instead, the CPUs
// of which perf would not deliver it.
func (p *Placer) unseen() (list []string) {
	for _, part := range []kernel.IdlePart{kernel.IdleSwitches, kernel.IdleInterrupts} {
		if text := p.unseenOf(part); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// unseenOf says of which CPUs perf would not deliver events of a part that the graph takes of it; "" if of
// none.
func (p *Placer) unseenOf(part kernel.IdlePart) string {
	for _, e := range p.Events {
		if of, ok := idlePart(e.Schema); ok && of == part && e.From == graph.ByPerf && !e.NoIdle {
			if cpus := p.env.idleOf(part); cpus != "" {
				return cpus + ": " + part.String()
			}
			return ""
		}
	}
	return ""
}

// Unseen says which events of idle tasks the plan takes and perf does not deliver; "" if none is known to be
// missing. It comes after Settle.
func (p *Placer) Unseen() string {
	if p.replay {
		return ""
	}
	var list []string
	if p.out.Kernel == nil && !p.Projected() {
		list = p.unseen()
	}
	if text := p.unseenOf(kernel.IdleSamples); text != "" {
		list = append(list, text) // also those by which programs run
	}
	return strings.Join(list, "; ")
}
