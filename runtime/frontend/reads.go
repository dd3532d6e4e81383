package frontend

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// This file tells what a function reads of its event, so that the kernel is
// asked for nothing else. An event that escapes - into a list, a builtin, a
// call that cannot be followed - may be read anywhere: then the list is not
// exact.

// Reads lists the attributes that the function reads of its event and of the
// parts of pairs, sorted. exact is false if the event escapes its sight.
func (f *Func) Reads() (names []string, exact bool) {
	return f.reads(&Machine{host: f.t.Host()}, role{ev: &subject{}, kind: kindOther})
}

// reads is Reads for a function with these arguments.
func (f *Func) reads(m *Machine, args ...role) (names []string, exact bool) {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return nil, false
	}
	in := &inference{m: m}
	in.function(fn, args, false)
	return slices.Sorted(maps.Keys(in.names)), !in.escaped
}

// read notes that an attribute of an event is read.
func (in *inference) read(name string) {
	if in.names == nil {
		in.names = map[string]bool{}
	}
	in.names[name] = true
}
