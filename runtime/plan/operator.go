package plan

import (
	"strings"

	"ppscript/runtime/agg"
	"ppscript/runtime/event"
	"ppscript/runtime/fold"
	"ppscript/runtime/join"
)

// An Operator is a part of a plan that runs: it relates events, keeps state,
// makes a result, or sends events on. Each kind is one file. It says there what
// the rest of the planner must know of it, so that needs, placement, sharing and
// explain only ask the operators of a plan, one after another.
//
// To add one, write its file: the description that scripts make (a Stream or a
// Report), what runs (embed operator, and override what is different), and the
// method that makes the one of the other. Its builtin is in builtins/; if it
// shows something new, the session delivers it (runtime/session/delivery.go).
type Operator interface {
	// needs adds what the sources must deliver for it.
	needs(b *builder, n *need)

	// sees says what it looks at of the events that reach it, beyond what
	// programs read.
	sees() sight

	// inKernel is what a program needs to do its work, and why none can; "" if
	// one may.
	inKernel() (op kernelOp, no string)
	// notSent says why its events must come from the kernel itself, not as
	// compact records of a program; "" if programs may send them.
	notSent() string

	// explain writes its lines.
	explain(w *strings.Builder)

	// End ends an interval or the run: what waits is handed out. last is the
	// time of the last event, now that on the clock of the events, 0 if nobody
	// knows.
	End(final bool, last, now event.Time)
	// Loss is what the events that it made since the last call do not contain.
	// Results have their own, beside this.
	Loss() event.Loss
	// State tells in lines what is kept at the moment.
	State() []string

	// mergeable says whether several instances may each see a part of the
	// events and be added up by absorb, which empties the other.
	mergeable() bool
	absorb(other Operator)
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

func (operator) needs(*builder, *need)            {}
func (operator) sees() sight                      { return sight{} }
func (operator) inKernel() (kernelOp, string)     { return kernelOp{}, "" }
func (operator) notSent() string                  { return "" }
func (operator) explain(*strings.Builder)         {}
func (operator) End(bool, event.Time, event.Time) {}
func (operator) Loss() event.Loss                 { return event.Loss{} }
func (operator) State() []string                  { return nil }
func (operator) mergeable() bool                  { return false }
func (operator) absorb(Operator)                  { panic("BUG: operator cannot be added up") }

// A kernelOp is an operator as programs know it: one of join, fold and group, which
// counts for a group of the plan.
type kernelOp struct {
	join   *join.Spec
	fold   *fold.Spec
	group  *agg.Spec
	counts *agg.Group
}

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
func (b *builder) add(op Operator) { b.plan.Operators = append(b.plan.Operators, op) }

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
