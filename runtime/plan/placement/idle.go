package placement

import (
	"slices"

	"ppscript/runtime/event"
)

// This file is about events that happen while a CPU is idle. On some machines perf delivers none of those of
// one CPU (kernel.TryIdle), and programs of the kernel see them all: there, programs take the events wherever
// they can, at whatever price, since without them each thread that is woken on an idle CPU seems not to run.

// ofIdle are systems whose events are about interrupts, or about what a CPU does in its idle task.
var ofIdle = []string{
	"irq", "irq_vectors", "timer", "power", "ipi", "block", "napi", "net", "skb", "tcp",
	"workqueue",
}

// ofIdleSched are such events of the scheduler: wake-ups by interrupts, and switches from the idle task.
var ofIdleSched = []string{"sched_switch", "sched_wakeup", "sched_waking"}

// mayBeIdle reports that an event may happen in the idle task.
func mayBeIdle(s *event.Schema) bool {
	return s != nil && (slices.Contains(ofIdle, s.System) ||
		s.System == "sched" && slices.Contains(ofIdleSched, s.Name))
}

// Unseen names the CPUs of which perf would not deliver some of these events; "" if none is known.
func (e *Env) Unseen(events ...*event.Schema) string {
	if e.Idle == nil || !slices.ContainsFunc(events, mayBeIdle) {
		return ""
	}
	return e.Idle()
}

// unseen is Unseen of the graph's events.
func (p *Placer) unseen() string {
	var list []*event.Schema
	for _, e := range p.Events {
		if e.From == ByPerf {
			list = append(list, e.Stream.Schema)
		}
	}
	return p.env.Unseen(list...)
}

// Unseen names the CPUs of which perf does not deliver some events that it shall; "" if none is known. It
// comes after Settle.
func (p *Placer) Unseen() string {
	if p.replay || p.out.Kernel != nil || p.Projected() {
		return ""
	}
	return p.unseen()
}
