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
// parts of pairs, sorted. exact is false if the event escapes its sight. It is
// what the checks saw, of whatever events; without a check, of any.
func (f *Func) Reads() (names []string, exact bool) {
	return f.reads(&Machine{host: f.t.Host()}, role{ev: &subject{}, kind: kindOther})
}

// reads is Reads for a function with these arguments.
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

// learn keeps what a walk through the function saw of its event.
func (f *Func) learn(in *inference) {
	if f.names == nil {
		f.names = map[string]bool{}
	}
	f.seen = true
	f.escaped = f.escaped || in.escaped
	f.memory = in.memory
	maps.Copy(f.names, in.names)
}

// read notes that an attribute of an event is read.
func (in *inference) read(name string) {
	if in.names == nil {
		in.names = map[string]bool{}
	}
	in.names[name] = true
}
