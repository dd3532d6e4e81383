package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// nameEmitted makes fields of emitted events show values as the kernel's fields do
// from which these were copied.
func (n *foldOp) nameEmitted(b *builder, fields []event.Field) {
	for i := range fields {
		if f := &fields[i]; f.Kind == event.Int {
			b.prints.NameAddresses(f, n.from.Machine.Sources(i)...)
		}
	}
}

// KeysOf lists the key columns of samples, with their names.
func (s *StacksOp) KeysOf(samples []result.StackSample) []result.Column {
	keys := slices.Clone(s.Keys)
	view.NameCells(keys, s.shows, result.KeysOf(samples))
	return keys
}
