package frontend

import (
	"maps"
	"ppscript/runtime/text/diag"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/eventview"

	"go.starlark.net/syntax"
)

// This file decides which expressions of a per-event function are the event,
// and finds the attributes of that event. Checks of fields, the inference of
// kinds and the translation to IR all use it; the interpreter's View has the
// same rules (eventview.AccessOf).

// A subject is an event that an expression denotes: the function's own, or a
// half of a pair.
type subject struct {
	scopes []*expr.Scope // scopes of its possible streams; if empty, it may be any event
	part   string        // "start", or "end.start" of a pair of pairs; "" for the event itself
	silent bool          // it may also be another event, so no errors are reported
}

// subjectOf is the event that is passed to a function.
func subjectOf(scopes []*expr.Scope) *subject {
	unknown := slices.ContainsFunc(scopes, func(sc *expr.Scope) bool { return sc.Schema == nil })
	return &subject{scopes: scopes, silent: unknown}
}

// same reports that two subjects are the same event.
func (ev *subject) same(other *subject) bool {
	return ev.part == other.part && slices.Equal(ev.scopes, other.scopes)
}

// muted returns the subject as one that may also be another event.
func (ev *subject) muted() *subject {
	return &subject{scopes: ev.scopes, part: ev.part, silent: true}
}

// which returns the part of the frame's event that the subject is.
func (ev *subject) which() expr.Part { return expr.PartNamed(ev.part) }

// of returns the full name of a part or value of the subject.
func (ev *subject) of(name string) string {
	if ev.part == "" {
		return name
	}
	return ev.part + "." + name
}

// half returns an event of the pair that the subject is.
func (ev *subject) half(name string) *subject {
	return &subject{scopes: ev.scopes, part: ev.of(name), silent: ev.silent}
}

// schema returns the schema of the subject for events of scope sc; nil if unknown.
func (ev *subject) schema(sc *expr.Scope) *event.Schema {
	return sc.Part(ev.part)
}

// An attribute is the meaning of a name for events of one scope: exactly one of
// its members is set.
type attribute struct {
	computed expr.Node         // a value of let
	half     *subject          // an event of a pair
	access   *eventview.Access // a field, a sample member, a constant
}

// attribute finds the attribute with a name for events of scope sc.
func (ev *subject) attribute(sc *expr.Scope, name string) (a attribute, ok bool) {
	if n, ok := sc.Vars[ev.of(name)]; ok {
		return attribute{computed: n}, true
	}
	access := eventview.AccessOf(ev.schema(sc), name)
	if access == nil {
		return a, false
	}
	switch access.How {
	case eventview.HowStart, eventview.HowEnd, eventview.HowDelay:
		if !ev.pair(sc) {
			return a, false
		}
		if access.How != eventview.HowDelay && sc.Parts[ev.of(name)] != nil {
			return attribute{half: ev.half(name)}, true
		}
	}
	return attribute{access: access}, true
}

// pair reports that the subject has a start and an end.
func (ev *subject) pair(sc *expr.Scope) bool {
	return sc.Parts[ev.of("start")] != nil || sc.Parts[ev.of("end")] != nil
}

// hasField reports that some of the events have a field with the name, or that
// this is unknown.
func (ev *subject) hasField(name string) bool {
	list := ev.schemas()
	return ev.silent || len(list) == 0 || slices.ContainsFunc(list, func(s *event.Schema) bool {
		_, ok := s.Field(name)
		return ok
	})
}

// schemas returns the schemas of the events that the subject may be, each once.
func (ev *subject) schemas() []*event.Schema {
	var list []*event.Schema
	for _, sc := range ev.scopes {
		if s := ev.schema(sc); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// names lists the attributes that the subject may have.
func (ev *subject) names() []string {
	names := []string{"name", "system", "symbolic", "text"}
	add := func(list ...string) {
		for _, n := range list {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	for _, sc := range ev.scopes {
		for _, name := range slices.Sorted(maps.Keys(sc.Vars)) {
			if member, ok := strings.CutPrefix(name, ev.of("")); ok && !strings.Contains(member, ".") {
				add(member)
			}
		}
		if ev.pair(sc) {
			add(eventview.PairNames...)
		}
	}
	for _, s := range ev.schemas() {
		add(s.Names()...)
	}
	return names
}

// label names the events for messages.
func (ev *subject) label() string {
	var names []string
	for _, s := range ev.schemas() {
		if n := s.FullName(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, " or ")
}

// unknown records an error for a name that none of the events has.
func (s *scan) unknown(ev *subject, name string, at syntax.Node) {
	err := eventview.UnknownField(ev.schemas()[0], name, ev.names())
	err.Subject = ev.label()
	s.note(at, err)
}

// note records an error about a read; only the first error at each position
// counts.
func (s *scan) note(at syntax.Node, err *diag.Error) {
	const most = 10
	sp := script.NodeSpan(at)
	if len(s.unknowns) >= most {
		return
	}
	for _, e := range s.unknowns {
		if e.Pos == sp.Pos.String() {
			return
		}
	}
	s.unknowns = append(s.unknowns, s.m.host.AtSpan(sp, err))
}
