package plan

import (
	"cmp"
	"fmt"
	"strings"

	"ppscript/runtime/plan/graph"
)

// An Operator is a part of a plan: it relates events, keeps state, makes a
// result, or sends events on. Each kind is one file. It says there what the rest
// of the planner must know of it, so that needs, placement, sharing and explain
// only ask the operators of a plan, one after another.
//
// To add one, write its file: the description that scripts make (a Stream or a
// Report), the operator that Build makes of it (embed step if it makes events, operator
// if it has results, and override what is different), what runs (embed running), which
// instantiate makes, and its Delivery, which brings its results to the user. Its builtin
// is in builtins/.
type Operator interface {
	// needs adds what the sources must deliver for it.
	needs(b *builder, n *need)

	// sees says what it looks at of the events that reach it, beyond what
	// programs read.
	sees() sight

	// inKernel is what a program needs to do its work, and why none can; "" if
	// one may.
	inKernel() (work graph.Work, no string)
	// describe adds what else placement must know of it.
	describe(b *builder, op *graph.Operator)
	// graphNode is its node of the graph, which is empty where placement need not know of it.
	graphNode() *graph.Node
	// notSent says why its events must come from the kernel itself, not as
	// projected records of a program; "" if programs may send them.
	notSent() string

	// deliver is how its results reach the user; nil if it has none.
	deliver(h Host) Delivery
	// ofOneMachine says why what it delivers cannot be put together with what other machines deliver, and
	// what that is called, unless it is called as the operator; "" if it can be, or if it delivers nothing.
	ofOneMachine() (what, why string)
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
// programs read, run in ppscript alone, say nothing and cannot be added up, neither
// here nor with those of other machines. Each says itself how its results are delivered.
type operator struct{ node graph.Node }

func (op *operator) graphNode() *graph.Node { return &op.node }

func (operator) needs(*builder, *need)              {}
func (operator) sees() sight                        { return sight{} }
func (operator) inKernel() (graph.Work, string)     { return graph.Work{}, "" }
func (operator) describe(*builder, *graph.Operator) {}
func (operator) inUserSpace() bool                  { return true }
func (operator) notSent() string                    { return "" }
func (operator) explain(*strings.Builder)           {}
func (operator) mergeable() bool                    { return false }
func (operator) ofOneMachine() (what, why string) {
	return "", "it is no result that can be put together"
}

// A step is an operator that makes events of events, and has no results.
type step struct{ operator }

func (step) deliver(Host) Delivery            { return nil }
func (step) ofOneMachine() (what, why string) { return "", "" }

// OfOneMachine says what the plan delivers that cannot be put together with what other machines deliver,
// and why; "" if there is no such thing.
func (p *Plan) OfOneMachine() (what, why string) {
	for _, op := range p.Operators {
		if what, why = op.ofOneMachine(); why != "" {
			return cmp.Or(what, kindOf(op)), why
		}
	}
	return "", ""
}

// actsHere is of operators that show nothing, but do something.
const actsHere = "it acts on events of one machine"

// kindOf is what an operator is called, for people.
func kindOf(op Operator) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", op), "*plan."), "Op"))
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
