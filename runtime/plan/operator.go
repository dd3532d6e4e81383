package plan

import (
	"strings"

	"ppscript/runtime/plan/placement"
)

// An Operator is a part of a plan: it relates events, keeps state, makes a
// result, or sends events on. Each kind is one file. It says there what the rest
// of the planner must know of it, so that needs, placement, sharing and explain
// only ask the operators of a plan, one after another.
//
// To add one, write its file: the description that scripts make (a Stream or a
// Report), the operator that Build makes of it (embed operator, and override what
// is different), and what runs (embed running), which instantiate makes. Its
// builtin is in builtins/; if it shows something new, the session delivers it
// (runtime/session/delivery.go).
type Operator interface {
	// needs adds what the sources must deliver for it.
	needs(b *builder, n *need)

	// sees says what it looks at of the events that reach it, beyond what
	// programs read.
	sees() sight

	// inKernel is what a program needs to do its work, and why none can; "" if
	// one may.
	inKernel() (work placement.Work, no string)
	// notSent says why its events must come from the kernel itself, not as
	// projected records of a program; "" if programs may send them.
	notSent() string

	// explain writes its lines.
	explain(w *strings.Builder)

	// mergeable says whether several instances may each see a part of the
	// events and be added up.
	mergeable() bool
	// instantiate makes what runs. Operators that make events for this one run
	// already.
	instantiate(in *Instance) Running
}

// A sight is what an operator looks at beyond what programs read.
type sight struct {
	// key says that it may look at the key of a pair.
	key bool
	// starts says that it may look at all of the record of a pair's start.
	starts bool
	// records says that it may look at the whole record of an event.
	records bool
}

// operator is what most operators have in common: they need nothing, see what
// programs read, run in ppscript alone, say nothing and cannot be added up.
type operator struct{}

func (operator) needs(*builder, *need)              {}
func (operator) sees() sight                        { return sight{} }
func (operator) inKernel() (placement.Work, string) { return placement.Work{}, "" }
func (operator) notSent() string                    { return "" }
func (operator) explain(*strings.Builder)           {}
func (operator) mergeable() bool                    { return false }

// Of returns the operators of one kind, in the order in which they were made.
func Of[T Operator](p *Plan) []T {
	var list []T
	for _, op := range p.Operators {
		if t, ok := op.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// Has reports whether the plan has an operator of a kind.
func Has[T Operator](p *Plan) bool {
	for _, op := range p.Operators {
		if _, ok := op.(T); ok {
			return true
		}
	}
	return false
}

// add gives the plan an operator.
func (p *Plan) add(op Operator) { p.Operators = append(p.Operators, op) }

// sees is what all operators together look at.
func (p *Plan) sees() sight {
	var all sight
	for _, op := range p.Operators {
		s := op.sees()
		all.key = all.key || s.key
		all.starts = all.starts || s.starts
		all.records = all.records || s.records
	}
	return all
}
