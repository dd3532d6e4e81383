package frontend

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
)

// Check reports fields that the function reads and none of the events can
// have; plan calls it with the scope of each stream that can arrive, before
// anything is opened. It also gives an interpreted function the computed
// values (let) of the scopes, as attributes of its event.
func (f *Func) Check(events []*expr.Scope) error { return f.check(events, 0) }

// check is Check for a function whose event is parameter number param.
func (f *Func) check(events []*expr.Scope, param int) error {
	shape, known := f.bind(events)
	if !known {
		return nil
	}
	return checkFields(f.t.Host(), f.fn, param, shape)
}

// bind makes the computed values of the scopes attributes of the events, and
// what builtins ask the outside for known. known is false if the events could
// be anything.
func (f *Func) bind(events []*expr.Scope) (shape Shape, known bool) {
	if len(events) > 0 {
		f.t.SetLocal(servicesKey, &events[0].Services)
		f.t.Host().SetServices(&events[0].Services)
	}
	cache := f.views[0].cache // shared by all
	cache.vars, cache.all, cache.stream = nil, nil, nil
	add := func(list []*event.Schema, s *event.Schema) []*event.Schema {
		if s == nil || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, sc := range events {
		if sc.Schema == nil {
			return shape, false
		}
		shape.Schemas = add(shape.Schemas, sc.Schema)
		shape.Start = add(shape.Start, sc.Parts["start"])
		shape.End = add(shape.End, sc.Parts["end"])
		for name, node := range sc.Vars {
			part, member, ofPart := strings.Cut(name, ".")
			if ofPart {
				which, extra := expr.Start, &shape.StartExtra
				if part == "end" {
					which, extra = expr.End, &shape.EndExtra
				}
				if cache.bind(varsOf{schema: sc.Parts[part]}, member, expr.Rebind(node, which, expr.Self)) {
					*extra = append(*extra, member)
				}
				continue
			}
			known := cache.bind(varsOf{schema: sc.Schema}, name, node)
			if sc.Stream != nil {
				known = cache.bind(varsOf{stream: sc.Stream.Index + 1}, name, node) || known
			}
			if known {
				shape.Extra = append(shape.Extra, name)
			}
		}
	}
	return shape, true
}

// varsOf are the events that have computed values: those of a stream, known by
// its index and 1, or all of a schema, as parts of pairs are.
type varsOf struct {
	stream int
	schema *event.Schema
}

// bind makes a computed value an attribute of events. Where two streams of one
// schema compute it differently and which of them an event is of is not known,
// the name is not known either.
func (c *viewCache) bind(of varsOf, name string, node expr.Node) bool {
	byName := c.vars[of]
	if byName == nil {
		if c.vars == nil {
			c.vars = map[varsOf]map[string]*expr.Program{}
		}
		byName = map[string]*expr.Program{}
		c.vars[of] = byName
	}
	have, ok := byName[name]
	switch {
	case !ok:
		byName[name] = expr.Build(node)
		return true
	case have == nil:
		return false
	case have.Node == node || !have.IsInterpreted() && have.Node.String() == node.String():
		return true
	}
	byName[name] = nil
	return false
}

// Result is what is known of what the function returns for events of the
// scopes: its kind, expr.Any if that is not known, and its unit.
func (f *Func) Result(events []*expr.Scope) (expr.Kind, event.Unit) {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return expr.Any, event.NoUnit
	}
	in := &inference{m: &Machine{host: f.t.Host()}}
	k := in.function(fn, []role{{events: events, kind: kindOther}})
	switch {
	case k == kindBool:
		return expr.Bool, event.NoUnit
	case k == kindText:
		return expr.Str, event.NoUnit
	case k.number():
		return expr.Int, k.unit()
	}
	return expr.Any, event.NoUnit
}
