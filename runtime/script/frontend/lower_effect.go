package frontend

import (
	"ppscript/runtime/expr"

	"go.starlark.net/syntax"
)

// This file keeps the order of operands that have effects. The IR turns x > y
// into y < x, and x in (1, 2) into x == 1 or x == 2. That changes nothing for
// operands without effects, but it would for calls of functions that change the
// state.

// hasEffect reports that evaluating n changes the state or emits.
func hasEffect(n expr.Node) bool {
	found := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.StoreState, *expr.StoreElem, *expr.Emit:
			found = true
		case *expr.Native:
			found = found || n.Effect
		}
		return !found
	})
	return found
}

// sequenced builds a value from operands. If one of them has effects, all are
// first evaluated in order, into local variables of the IR.
func (l *lowerer) sequenced(at syntax.Position, vals []val, build func(vals []val) val) val {
	effects := false
	for _, v := range vals {
		effects = effects || v.node != nil && hasEffect(v.node)
	}
	if !effects {
		return build(vals)
	}
	held := make([]val, len(vals))
	var list []expr.Node
	for i, v := range vals {
		set, local := l.hold(at, v)
		if set != nil {
			list = append(list, set)
		}
		held[i] = local
	}
	r := build(held)
	n, err := expr.NewSeq(append(list, l.nodeOf(at, r))...)
	l.must(at, err)
	return val{node: n, unit: unitOf(r)}
}

// hold returns a value in a local variable of the IR, and the node that assigns
// it. Constants and stable values are returned unchanged.
func (l *lowerer) hold(at syntax.Position, v val) (set expr.Node, local val) {
	if v.node == nil || stable(v.node) {
		return nil, v
	}
	n := l.operand(at, v)
	if n.Type().Kind == expr.Tuple {
		l.refuse(at, "a tuple is an operand")
	}
	if n.Type().Kind == expr.Str && readsState(n) {
		n = copied(n) // the slot may be overwritten
	}
	held := expr.NewLocal(l.newLocal(), "held", n.Type())
	set, err := expr.NewSet(held.(*expr.Local).Index, "held", n)
	l.must(at, err)
	return set, val{node: held, unit: v.unit}
}
