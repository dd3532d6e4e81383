package view

import (
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file shows keys and columns as the kernel prints them: TCP_SYN_SENT
// instead of 2. A result keeps the numbers, which are grouped, sorted and
// computed with; their texts are made when its rows are shown. So they cost
// nothing for an event, and are the same whichever engine counted: a program of the
// kernel, native code or the interpreter.

// Prints finds how values of functions are shown. The zero Prints knows no addresses.
type Prints struct {
	// Raw shows numbers; addresses stay addresses.
	Raw bool
	// Function is the function of the kernel at an address; nil knows none.
	Function func(addr uint64) string
	// NameOf is the name of a container or a pod by its id; nil knows none.
	NameOf func(id string) (string, bool)
	// would is what interpreted programs, and the nodes of interpreted names, would be
	// if they were compiled.
	would map[any]expr.Node
}

// Would notes what an interpreted program, or the node of an interpreted name, would be.
func (p *Prints) Would(of any, be expr.Node) {
	if p.would == nil {
		p.would = map[any]expr.Node{}
	}
	p.would[of] = be
}

// NodeOf is what a program computes, also of a function that is interpreted
// though it could be compiled. Nil is not known.
func (p *Prints) NodeOf(prog *expr.Program) expr.Node {
	if n, ok := p.would[prog]; ok {
		return n
	}
	return prog.Node
}

// Rebind is a name of an event as it is used on the part of a pair.
func (p *Prints) Rebind(v expr.Node, part expr.Part) expr.Node {
	n := expr.Rebind(v, expr.Self, part)
	if would, ok := p.would[v]; ok {
		p.Would(n, would)
	}
	return n
}

// Of finds how values of a function are shown; nil is as they are.
func (p *Prints) Of(fn *flow.Fn) Show { return p.ByAll(p.Nodes(fn)) }

// Nodes are what the programs of a function compute.
func (p *Prints) Nodes(fn *flow.Fn) []expr.Node {
	if fn == nil {
		return nil
	}
	var nodes []expr.Node
	fn.Each(func(prog *expr.Program) { nodes = append(nodes, p.NodeOf(prog)) })
	return nodes
}

// ByAll finds how values are shown that come from one of several nodes, as
// where several events arrive: a value whose text they do not agree about is a
// number.
func (p *Prints) ByAll(nodes []expr.Node) Show {
	var all []Show
	var fields []*event.Field
	for _, n := range nodes {
		f := expr.FieldOf(n)
		if f != nil && slices.Contains(fields, f) {
			continue
		}
		fields = append(fields, f)
		show := p.By(n)
		if show == nil {
			return nil
		}
		all = append(all, show)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return Agreed(all)
}

// By finds how values of a node are shown.
func (p *Prints) By(n expr.Node) Show {
	if again, ok := p.would[n]; ok {
		n = again
	}
	switch n := n.(type) {
	case nil:
		return nil
	case *expr.TupleOf:
		return p.tuple(n)
	case *expr.Cond, *expr.Func, *expr.Set, *expr.Seq:
		return p.ByAll(expr.Sources(n))
	}
	names := p.names(expr.FieldOf(n))
	if !expr.IsAddress(n) {
		return names
	}
	return func(v event.Value) (string, bool) {
		if names != nil {
			if name, ok := names(v); ok {
				return name, true
			}
		}
		return hexText(v)
	}
}

// hexText is an address as people read it.
func hexText(v event.Value) (string, bool) {
	if !v.Numeric() {
		return "", false
	}
	return "0x" + strconv.FormatUint(v.Uint(), 16), true
}

// names finds the names of a field's values; nil if it has none.
func (p *Prints) names(f *event.Field) Show {
	switch {
	case f == nil, p.Raw:
		return nil
	case f.Shown != nil:
		return f.Shown
	case p.NameOf != nil && f.Place == event.InMember &&
		(f.Member == event.MemberContainer || f.Member == event.MemberPod):
		return func(v event.Value) (string, bool) { return p.NameOf(v.String()) }
	case f.Unit == event.AddressU && slices.Contains(codeFields, f.Name):
		return p.code()
	}
	return nil
}

// NameAddresses gives the names of addresses to a field that holds values of some nodes.
func (p *Prints) NameAddresses(f *event.Field, nodes ...expr.Node) {
	f.Shown = p.ByAll(nodes)
	if f.Unit == event.NoUnit && p.addresses(nodes) {
		f.Unit = event.AddressU
	}
}

// addresses reports that all nodes yield addresses.
func (p *Prints) addresses(nodes []expr.Node) bool {
	for _, n := range nodes {
		if again, ok := p.would[n]; ok {
			n = again
		}
		if !expr.IsAddress(n) {
			return false
		}
	}
	return len(nodes) > 0
}

// codeFields are the fields that hold addresses of code.
var codeFields = []string{"ip", "ret_ip"}

// code shows addresses of the kernel's code as functions.
func (p *Prints) code() Show {
	if p.Function == nil {
		return nil
	}
	find := p.Function
	return func(v event.Value) (string, bool) {
		if !v.Numeric() || int64(v.Uint()) >= 0 {
			return "", false // of a program
		}
		name := find(v.Uint())
		return name, !strings.HasPrefix(name, "0x")
	}
}

// tuple shows the members of composite keys.
func (p *Prints) tuple(t *expr.TupleOf) Show {
	each := make([]Show, len(t.Elems))
	some := false
	for i, n := range t.Elems {
		each[i] = p.By(n)
		some = some || each[i] != nil
	}
	if !some {
		return nil
	}
	return Tuple(each)
}
