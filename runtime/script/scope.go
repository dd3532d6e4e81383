package script

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Check reports fields that the function reads and none of the events can
// have; plan calls it with the scope of each stream that can arrive, before
// anything is opened.
func (f *Func) Check(events []*expr.Scope) error {
	var shape Shape
	add := func(list []*event.Schema, s *event.Schema) []*event.Schema {
		if s == nil || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, sc := range events {
		if sc.Schema == nil {
			return nil // could be anything
		}
		shape.Schemas = add(shape.Schemas, sc.Schema)
		shape.Start = add(shape.Start, sc.Parts["start"])
		shape.End = add(shape.End, sc.Parts["end"])
		for name := range sc.Vars {
			shape.Extra = append(shape.Extra, name)
		}
	}
	return f.t.host.CheckFields(f.fn, shape)
}
