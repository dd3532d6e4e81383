package frontend

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/eventview"

	"go.starlark.net/starlark"
)

// Check returns an error if the function reads a field that none of the events
// can have; plan calls it with the scope of each possible stream, before
// anything is opened. It also makes the computed values (let) of the scopes
// attributes of the event, for an interpreted function.
func (f *Func) Check(events []*expr.Scope) error {
	f.bind(events)
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return refusesEvent(f.fn)
	}
	in := &inference{m: &Machine{host: f.t.Host()}, schema: firstSchema(events)}
	in.function(fn, []role{{ev: subjectOf(events), kind: kindOther}}, true)
	f.learn(in)
	return joined(in.unknowns)
}

// firstSchema returns the schema of the first scope; nil if there is none.
func firstSchema(events []*expr.Scope) *event.Schema {
	if len(events) == 0 {
		return nil
	}
	return events[0].Schema
}

// bind makes the computed values of the scopes attributes of the events, and
// sets the services for builtins.
func (f *Func) bind(events []*expr.Scope) {
	if len(events) > 0 {
		f.t.SetLocal(servicesKey, &events[0].Services)
		f.t.Host().Session.Services = &events[0].Services
	}
	cache := f.views[0].Cache() // shared by all views
	cache.Forget()
	for _, sc := range events {
		if sc.Schema == nil {
			return // events of any kind
		}
		if sc.Stream != nil {
			cache.Know(sc.Stream)
		}
		for name, node := range sc.Vars {
			if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
				part := name[:dot]
				cache.Bind(eventview.Of{Schema: sc.Parts[part]}, name[dot+1:],
					expr.Rebind(node, expr.PartNamed(part), expr.Self))
				continue
			}
			cache.Bind(eventview.Of{Schema: sc.Schema}, name, node)
			if sc.Stream != nil {
				cache.Bind(eventview.Of{Stream: sc.Stream.Index + 1}, name, node)
			}
		}
	}
}

// Result is the type of the function's result for events of the scopes, with its unit; the
// kind is expr.Any if unknown.
func (f *Func) Result(events []*expr.Scope) event.Type {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return event.Type{Kind: expr.Any}
	}
	in := &inference{m: &Machine{host: f.t.Host()}}
	k := in.function(fn, []role{{ev: subjectOf(events), kind: kindOther}}, true)
	if k == kindText || k == kindFloat || k.number() {
		return k.Type
	}
	return event.Type{Kind: expr.Any}
}
