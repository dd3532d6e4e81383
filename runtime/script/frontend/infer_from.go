package frontend

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file infers the fields from which values come, so that results show them
// like these fields: an address as an address, the state of a socket by its name.
// It does so for all functions, since a function that stays interpreted has no
// nodes.

// anAddress stands for addresses that are computed from other addresses.
var anAddress = expr.NewField(&event.Field{Name: "address", Type: "void *", Kind: event.Int, Size: 8,
	Unit: event.AddressU}, expr.Self)

// origin lists the nodes whose values a role passes on unchanged. A nil in the list stands for
// other values, which are shown as plain values. A constant has no nodes, since it is a value of
// the same kind as the others.
func (r *role) origin() []expr.Node {
	switch {
	case len(r.from) > 0 || r.c != nil || r.weak:
		return r.from
	case r.tuple:
		return []expr.Node{r.tupleNode()}
	}
	return []expr.Node{nil}
}

// tupleNode makes a composite key of the members' nodes. A constant stands for a member that is
// shown as a plain value.
func (r *role) tupleNode() expr.Node {
	members := make([]expr.Node, len(r.items))
	for i := range r.items {
		members[i] = expr.NewInt(0)
		if from := r.items[i].origin(); len(from) == 1 && from[0] != nil {
			if _, nested := from[0].(*expr.TupleOf); !nested {
				members[i] = from[0]
			}
		}
	}
	n, err := expr.NewTuple(members...)
	if err != nil {
		return nil
	}
	return n
}

// origins joins the nodes of several roles, each once.
func origins(list ...[]expr.Node) (all []expr.Node) {
	for _, from := range list {
		for _, n := range from {
			if !slices.ContainsFunc(all, func(x expr.Node) bool { return sameOrigin(x, n) }) {
				all = append(all, n)
			}
		}
	}
	return all
}

// sameOrigin reports that values of two nodes are shown in the same way.
func sameOrigin(x, y expr.Node) bool {
	if x == nil || y == nil {
		return x == y
	}
	f, g := expr.FieldOf(x), expr.FieldOf(y)
	return x == y || f != nil && f == g
}

// computedFrom returns the nodes for the result of x op y: an address plus or minus a number is an
// address, as is an address with its low bits cleared.
func computedFrom(op syntax.Token, x, y role) []expr.Node {
	a, b := x.address(), y.address()
	switch op {
	case syntax.PLUS:
		if a != b {
			return []expr.Node{anAddress}
		}
	case syntax.MINUS:
		if a && !b {
			return []expr.Node{anAddress}
		}
	case syntax.AMP:
		if a && clearsLow(y.c) || b && clearsLow(x.c) {
			return []expr.Node{anAddress}
		}
	}
	return nil
}

// address reports that all values of a role are addresses.
func (r *role) address() bool {
	for _, n := range r.from {
		if n == nil || !expr.IsAddress(n) {
			return false
		}
	}
	return len(r.from) > 0
}

// clearsLow reports that a mask clears only low bits.
func clearsLow(c starlark.Value) bool {
	i, ok := c.(starlark.Int)
	if !ok {
		return false
	}
	u, large := i.Uint64()
	return i.Sign() < 0 || large && int64(u) < 0
}

// sourceOf returns the node for an attribute of an event.
func sourceOf(ev *subject, a attribute) expr.Node {
	switch {
	case a.computed != nil:
		return a.computed
	case a.access != nil && a.access.Field != nil:
		return expr.NewField(a.access.Field, ev.which())
	}
	return nil
}

// Source returns the only node whose values the function passes on, which says how to show them;
// nil if there is not exactly one.
func (f *Func) Source(events []*expr.Scope) expr.Node {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return nil
	}
	in := &inference{m: &Machine{host: f.t.Host()}}
	r := in.enter(fn, []role{{ev: subjectOf(events), kind: kindOther}}, true, 0)
	if from := r.origin(); len(from) == 1 {
		return from[0]
	}
	return nil
}

// Sources returns the nodes of the values of the i-th emitted field, directly or through the state.
// A nil in the list stands for other values.
func (m *Machine) Sources(i int) []expr.Node { return m.from[i] }
