package plan

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/fold"
	"ppscript/runtime/result"
	"ppscript/runtime/view"
)

// This file shows keys and columns as the kernel prints them: TCP_SYN_SENT
// instead of 2. A result keeps the numbers, which are grouped, sorted and
// computed with; their texts are made when its rows are shown. So they cost
// nothing for an event, and are the same whoever counted: a program of the
// kernel, native code or the interpreter.

// shows finds how values of a function are shown; nil is as they are.
func (b *builder) shows(fn *flow.Fn) view.Show {
	if fn == nil {
		return nil
	}
	var nodes []expr.Node
	fn.Each(func(p *expr.Program) { nodes = append(nodes, b.nodeOf(p)) })
	return b.shownByAll(nodes)
}

// shownByAll finds how values are shown that come from one of several nodes, as
// where several events arrive: a value whose text they do not agree about is a
// number.
func (b *builder) shownByAll(nodes []expr.Node) view.Show {
	var all []view.Show
	var fields []*event.Field
	for _, n := range nodes {
		f := expr.FieldOf(n)
		if f != nil && slices.Contains(fields, f) {
			continue
		}
		fields = append(fields, f)
		show := b.shownBy(n)
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
	return view.Agreed(all)
}

// nodeOf is what a program computes, also of a function that is interpreted
// though it could be compiled. Nil is not known.
func (b *builder) nodeOf(p *expr.Program) expr.Node {
	if n, ok := b.compiled[p]; ok {
		return n
	}
	return p.Node
}

// rebind is a name of an event as it is used on the part of a pair.
func (b *builder) rebind(v expr.Node, part expr.Part) expr.Node {
	n := expr.Rebind(v, expr.Self, part)
	if would, ok := b.compiled[v]; ok {
		b.compiled[n] = would
	}
	return n
}

// shownBy finds how values of a node are shown.
func (b *builder) shownBy(n expr.Node) view.Show {
	if b.env.Raw {
		return nil
	}
	if again, ok := b.compiled[n]; ok {
		n = again
	}
	if t, ok := n.(*expr.TupleOf); ok {
		return b.shownTuple(t)
	}
	f := expr.FieldOf(n)
	switch {
	case f == nil:
		return nil
	case f.Shown != nil:
		return f.Shown
	case f.Unit == event.AddressU && slices.Contains(codeFields, f.Name):
		return b.shownCode()
	}
	return nil
}

// codeFields are the fields that hold addresses of code.
var codeFields = []string{"ip", "ret_ip"}

// shownCode shows addresses of the kernel's code as functions.
func (b *builder) shownCode() view.Show {
	if b.env.Services == nil || b.env.Services.KsymOffset == nil {
		return nil
	}
	find := b.env.Services.KsymOffset
	return func(v event.Value) (string, bool) {
		if !v.Numeric() || int64(v.Uint()) >= 0 {
			return "", false // of a program
		}
		name := find(v.Uint())
		return name, !strings.HasPrefix(name, "0x")
	}
}

// shownTuple shows the members of composite keys.
func (b *builder) shownTuple(t *expr.TupleOf) view.Show {
	each := make([]view.Show, len(t.Elems))
	some := false
	for i, n := range t.Elems {
		each[i] = b.shownBy(n)
		some = some || each[i] != nil
	}
	if !some {
		return nil
	}
	return view.Tuple(each)
}

// nameEmitted settles how the fields of what a fold emits are shown: as the fields
// of the kernel that their values come from.
func (n *foldOp) nameEmitted(b *builder, fields []event.Field) {
	c := fold.NewEmitted()
	n.spec.Step.Each(func(p *expr.Program) { c.See(b.nodeOf(p)) })
	if n.spec.Flush != nil {
		c.See(b.nodeOf(n.spec.Flush))
	}
	for i := range fields {
		if f := &fields[i]; f.Kind == event.Int {
			f.Shown = b.shownByAll(c.Sources(f.Name))
		}
	}
}

// KeysOf is the columns of the keys of samples, with the names of these.
func (s *StacksOp) KeysOf(samples []result.StackSample) []result.Column {
	keys := slices.Clone(s.Keys)
	view.NameCells(keys, s.shows, func(yield func(row []event.Value) bool) {
		for i := range samples {
			if !yield(samples[i].Key) {
				return
			}
		}
	})
	return keys
}
