package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// nameEmitted settles how the fields of what a fold emits are shown: as the fields
// of the kernel that their values come from.
func (n *foldOp) nameEmitted(b *builder, fields []event.Field) {
	c := fold.NewEmitted()
	n.spec.Step.Each(func(p *expr.Program) { c.See(b.prints.NodeOf(p)) })
	if n.spec.Flush != nil {
		c.See(b.prints.NodeOf(n.spec.Flush))
	}
	for i := range fields {
		if f := &fields[i]; f.Kind == event.Int {
			f.Shown = b.prints.ByAll(c.Sources(f.Name))
		}
	}
}

// KeysOf is the columns of the keys of samples, with the names of these.
func (s *StacksOp) KeysOf(samples []result.StackSample) []result.Column {
	keys := slices.Clone(s.Keys)
	view.NameCells(keys, s.shows, result.KeysOf(samples))
	return keys
}
