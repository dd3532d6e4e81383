package view

import (
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file shows keys and columns as the kernel prints them: TCP_SYN_SENT instead
// of 2. A result keeps the numbers, by which it is grouped, sorted and computed;
// the texts are made when its rows are shown. So they cost nothing per event, and
// are the same for all engines: kernel programs, native code and the interpreter.

// Prints finds the texts for the values of functions. The zero Prints has no names of
// addresses and containers.
type Prints struct {
	// Raw shows numbers instead of names; addresses stay in hex.
	Raw bool
	// Function returns the kernel's function at an address; nil if addresses
	// have no names.
	Function func(addr uint64) string
	// NameOf returns the name of a container or a pod by its id; nil if they
	// have no names.
	NameOf func(id string) (string, bool)
	// would has the nodes that interpreted programs, and interpreted names, would have
	// if they were compiled; by program or node.
	would map[any]expr.Node
}

// Would records the node that an interpreted program or name would have if it were
// compiled.
func (p *Prints) Would(of any, be expr.Node) {
	if p.would == nil {
		p.would = map[any]expr.Node{}
	}
	p.would[of] = be
}

// NodeOf returns the node that a program computes, also for an interpreted
// function that could be compiled; nil if unknown.
func (p *Prints) NodeOf(prog *expr.Program) expr.Node {
	if n, ok := p.would[prog]; ok {
		return n
	}
	return prog.Node
}

// Rebind converts the node of an event's name to the node for an event of a
// pair, including the node in would.
func (p *Prints) Rebind(v expr.Node, part expr.Part) expr.Node {
	n := expr.Rebind(v, expr.Self, part)
	if would, ok := p.would[v]; ok {
		p.Would(n, would)
	}
	return n
}

// Of returns the Show for the values of a function; nil if they are shown
// unchanged.
func (p *Prints) Of(fn *flow.Fn) Show { return p.ByAll(p.Nodes(fn)) }

// Nodes returns the nodes that the programs of a function compute.
func (p *Prints) Nodes(fn *flow.Fn) []expr.Node {
	if fn == nil {
		return nil
	}
	var nodes []expr.Node
	fn.Each(func(prog *expr.Program) { nodes = append(nodes, p.NodeOf(prog)) })
	return nodes
}

// ByAll returns the Show for values that come from one of several nodes, such
// as of several events. A value is shown as a number if the nodes' texts for it
// differ.
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

// By returns the Show for the values of a node.
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

// hexText returns an address in hex.
func hexText(v event.Value) (string, bool) {
	if !v.Numeric() {
		return "", false
	}
	return "0x" + strconv.FormatUint(v.Uint(), 16), true
}

// names returns the Show for a field's values; nil if they have no names.
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

// NameAddresses sets Shown of a field that holds the values of some nodes, and its unit
// if they are addresses.
func (p *Prints) NameAddresses(f *event.Field, nodes ...expr.Node) {
	f.Shown = p.ByAll(nodes)
	if f.Unit == event.NoUnit && p.addresses(nodes) {
		f.Unit = event.AddressU
	}
}

// addresses reports whether all nodes yield addresses.
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
			return "", false // an address of a user program
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
