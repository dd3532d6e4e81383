package frontend

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// This file finds the attributes of the event that a function reads, so that
// the kernel need not deliver others. An event that escapes - into a list, a
// builtin, a call that cannot be followed - may be read anywhere; then the list
// is not exact.

// Reads lists the attributes that the function reads of its event and of the
// parts of pairs, sorted. exact is false if the event escapes. The list is the
// result of the checks; without a check, it is computed for any event.
func (f *Func) Reads() (names []string, exact bool) {
	return f.reads(&Machine{host: f.t.Host()}, role{ev: &subject{}, kind: kindOther})
}

// reads is Reads for a function with arguments of these roles.
func (f *Func) reads(m *Machine, args ...role) (names []string, exact bool) {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return nil, false
	}
	if !f.seen {
		in := &inference{m: m}
		in.function(fn, args, false)
		return slices.Sorted(maps.Keys(in.names)), !in.escaped
	}
	return slices.Sorted(maps.Keys(f.names)), !f.escaped
}

// learn records the attributes that a walk through the function found.
func (f *Func) learn(in *inference) {
	if f.names == nil {
		f.names = map[string]bool{}
	}
	f.seen = true
	f.escaped = f.escaped || in.escaped
	f.memory = in.memory
	maps.Copy(f.names, in.names)
}

// read records that an attribute of an event is read.
func (in *inference) read(name string) {
	if in.names == nil {
		in.names = map[string]bool{}
	}
	in.names[name] = true
}
