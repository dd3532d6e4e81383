package hook

import (
	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file says what a program can be called by.

// An Event is one tracepoint, one probe, or one event of perf that is sampled. The
// last is opened by somebody else, on the target, and has the program set.
type Event struct {
	Stream  int // index of its stream in the plan
	Schema  *event.Schema
	Sampled bool
	Probe   *Probe // nil if it is none
	Label   string
	Filter  expr.Node  // nil passes all
	CPUs    []int      // nil is all of the target's
	Period  uint64     // one of so many, on each CPU; 0 and 1 are all
	Stack   *StackSpec // nil if nobody asks for it
}

// A Probe says that an event is a probe: in a program or in the kernel, at a return
// or not.
type Probe struct{ User, Return bool }

// A StackSpec says which part of an event's stack is wanted.
type StackSpec struct {
	Kernel, User bool
	Max          int  // addresses
	Tables       bool // user code is walked by its unwind tables
}

// IsStack reports that a node is the event's own stack.
func IsStack(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Member == event.MemberCallchain
}

// RefuseHeld refuses what counts by a stack that a fold emits: its number means nothing in programs.
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
