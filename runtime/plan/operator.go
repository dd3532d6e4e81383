package plan

import (
	"cmp"
	"fmt"
	"strings"

	"ppscript/runtime/plan/graph"
)

// An Operator is a part of a plan: it relates events, keeps state, makes a
// result, or sends events on. Each kind is one file. The methods tell the
// planner all that it must know of the operator, so that needs, placement,
// sharing and explain only call the operators of a plan in turn.
//
// To add one, write its file: the description that scripts make (a Stream or a Report),
// the operator that Build makes of it (embed step if it makes events, operator if it has
// results, and override the methods that differ), the running operator (embed running),
// which instantiate makes, and its Delivery, which brings its results to the user. Its
// builtin is in builtins/.
type Operator interface {
	// needs adds the data that the sources must deliver for the operator.
	needs(b *builder, n *need)

	// sees says whether the operator looks at more of an event than its
	// compiled functions read.
	sees() sight

	// inKernel is the operator's description for programs of the kernel, and
	// the reason why none can run it; "" if one may.
	inKernel() (work graph.Work, no string)
	// describe adds further facts for placement to the operator's node.
	describe(b *builder, op *graph.Operator)
	// graphNode is the operator's node in the graph. It is empty if placement need not know
	// the operator.
	graphNode() *graph.Node
	// notSent says why its events must come from the kernel itself, not as
	// projected records of a program; "" if programs may send them.
	notSent() string

	// deliver makes the delivery of its results; nil if it has none.
	deliver(h Host) Delivery
	// ofOneMachine says why its results cannot be merged with results of other machines; "" if they
	// can be, or if it has none. The second result names the results in the message, "" by the
	// operator's name.
	ofOneMachine() (what, why string)
	// explain writes the operator's lines of Plan.Explain.
	explain(w *strings.Builder)

	// mergeable says whether several instances may each take a part of the
	// events and have their counts added up.
	mergeable() bool
	// instantiate makes the running operator. Operators that make events for
	// this one run already.
	instantiate(in *Instance) Running
}

// A sight says which parts of an event an operator looks at, beside the fields
// that its compiled functions read.
type sight struct {
	// key says that it may look at the key of a pair.
	key bool
	// starts says that it may look at all of the record of a pair's start.
	starts bool
	// records says that it may look at the whole record of an event.
	records bool
}

// operator has default methods, to be embedded: an operator that needs nothing, runs in
// ppscript alone, explains nothing, and whose instances cannot be added up, neither here
// nor with other machines. It has no default for deliver.
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

// A step is the default for an operator that makes events and has no results.
type step struct{ operator }

func (step) deliver(Host) Delivery            { return nil }
func (step) ofOneMachine() (what, why string) { return "", "" }

// OfOneMachine names the results of the plan that cannot be merged with results of other machines,
// and says why; "" if all can.
func (p *Plan) OfOneMachine() (what, why string) {
	for _, op := range p.Operators {
		if what, why = op.ofOneMachine(); why != "" {
			return cmp.Or(what, kindOf(op)), why
		}
	}
	return "", ""
}

// actsHere is the ofOneMachine of operators that show nothing but act on this
// machine.
const actsHere = "it acts on events of one machine"

// kindOf names an operator in messages.
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

// sees joins the sights of all operators.
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
