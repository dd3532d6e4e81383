package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// nameEmitted settles how the fields of what a fold emits are shown: as the fields
// of the kernel that their values come from.
func (n *foldOp) nameEmitted(b *builder, fields []event.Field) {
	for i := range fields {
		if f := &fields[i]; f.Kind == event.Int {
			b.prints.NameAddresses(f, n.from.Machine.Sources(i)...)
		}
	}
}

// KeysOf is the columns of the keys of samples, with the names of these.
func (s *StacksOp) KeysOf(samples []result.StackSample) []result.Column {
	keys := slices.Clone(s.Keys)
	view.NameCells(keys, s.shows, result.KeysOf(samples))
	return keys
}
