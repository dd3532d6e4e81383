package script

import (
	"maps"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Check reports fields that the function reads and the events of sc do not
// have; plan calls it before anything is opened.
func (f *Func) Check(sc *expr.Scope) error {
	shape := Shape{Extra: slices.Collect(maps.Keys(sc.Vars))}
	if sc.Schema != nil {
		shape.Schemas = []*event.Schema{sc.Schema}
	}
	if s := sc.Parts["start"]; s != nil {
		shape.Start = []*event.Schema{s}
	}
	if s := sc.Parts["end"]; s != nil {
		shape.End = []*event.Schema{s}
	}
	return f.t.host.CheckFields(f.fn, shape)
}
