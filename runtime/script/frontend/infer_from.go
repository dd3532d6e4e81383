package frontend

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file infers where values come from, so that they are shown as the fields
// that hold them: an address as an address, the state of a socket by its name. It
// does so for all functions, since one that stays interpreted has no nodes to
// look at.

// anAddress stands for addresses that are computed from others.
var anAddress = expr.NewField(&event.Field{Name: "address", Type: "void *", Kind: event.Int, Size: 8,
	Unit: event.AddressU}, expr.Self)

// origin lists the nodes whose values a role passes on. A nil is something else, which is shown as it is. A
// constant has none: it stands for a value of the others' kind.
func (r *role) origin() []expr.Node {
	switch {
	case len(r.from) > 0 || r.c != nil || r.weak:
		return r.from
	case r.tuple:
		return []expr.Node{r.tupleNode()}
	}
	return []expr.Node{nil}
}

// tupleNode is a composite key of the members' nodes. A constant is in the place of one that is shown as it
// is.
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

// origins joins the nodes of several, each once.
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

// sameOrigin reports that values of two nodes are shown alike.
func sameOrigin(x, y expr.Node) bool {
	if x == nil || y == nil {
		return x == y
	}
	f, g := expr.FieldOf(x), expr.FieldOf(y)
	return x == y || f != nil && f == g
}

// computedFrom is where the result of x op y comes from: an address and a distance make an address, as do an
// address and a mask of its high bits.
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

// address reports that all values are addresses.
func (r *role) address() bool {
	for _, n := range r.from {
		if n == nil || !expr.IsAddress(n) {
			return false
		}
	}
	return len(r.from) > 0
}

// clearsLow reports a mask that takes away low bits alone.
func clearsLow(c starlark.Value) bool {
	i, ok := c.(starlark.Int)
	if !ok {
		return false
	}
	u, large := i.Uint64()
	return i.Sign() < 0 || large && int64(u) < 0
}

// sourceOf is the node of which a name of an event has the values.
func sourceOf(ev *subject, a attribute) expr.Node {
	switch {
	case a.computed != nil:
		return a.computed
	case a.access != nil && a.access.Field != nil:
		return expr.NewField(a.access.Field, ev.which())
	}
	return nil
}

// Source is the node whose values the function passes on, for people to see; nil if there is not one alone.
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

// Sources are the nodes that the values of the i-th field of what the fold emits come from, at once or by way
// of the state. A nil is something else.
func (m *Machine) Sources(i int) []expr.Node { return m.from[i] }
