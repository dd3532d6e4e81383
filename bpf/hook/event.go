package hook

import (
	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
)

// This file names the events that call programs.

type (
	// An Event is one tracepoint, one probe, or one event of perf that is sampled.
	Event = graph.Event
	// A Probe says that an event is a probe.
	Probe = graph.Probe
	// A StackSpec says which part of an event's stack is wanted.
	StackSpec = graph.StackSpec
)

// IsStack reports that a node is the event's own stack.
func IsStack(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Member == event.MemberCallchain
}

// RefuseHeld refuses grouping by a stack that a fold emits: programs cannot use its number.
func RefuseHeld(nodes ...expr.Node) {
	for _, n := range nodes {
		for _, r := range expr.UsesOf(n).Fields {
			if r.F.Place == event.InSlot && r.F.Stack() && !IsStack(r) {
				assembler.Refuse("field %s of what a fold emits is a stack, which has its number in ppscript",
					r.F.Name)
			}
		}
	}
}
