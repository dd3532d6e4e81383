package placement

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/system/kernel"
)

// This file is about events that happen while a CPU is idle. On some machines perf delivers no such
// event of one CPU, or only its interrupts (kernel.TryIdle), and programs of the kernel see them
// all. On such a machine programs take these events wherever they can, whatever it costs: else each
// thread that is woken on an idle CPU would seem not to run. Samples come from perf alone; samples
// that it does not deliver cannot be had.

// interrupts are systems whose events are about interrupts, or happen in them: also while a CPU is idle.
var interrupts = []string{
	"irq", "irq_vectors", "timer", "power", "ipi", "block", "napi", "net", "skb", "tcp",
	"workqueue",
}

// idlePart is the part of the idle task's events that an event belongs to; the zero value if it
// cannot happen there.
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

// idleOf names the CPUs for which perf delivers no events of a part while they are idle; "" if
// none are known.
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
		return ok && part != kernel.IdleSamples && e.idleOf(part) != "" || e.hiding(s) != ""
	})
}

// unseen maps each part of the idle task's events to the CPUs for which perf does not deliver it.
// It has only parts with events of the graph that programs could take instead.
func (p *Placer) unseen() (list []string) {
	for _, part := range []kernel.IdlePart{kernel.IdleSwitches, kernel.IdleInterrupts} {
		if text := p.unseenOf(part); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// unseenOf names the CPUs for which perf would not deliver the graph's events of a part; "" if
// there are none.
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

// Unseen names events of idle tasks that the plan takes from perf and perf does not deliver; "" if
// none are known. Call it after Settle.
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
