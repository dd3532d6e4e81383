package frontend

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/direct"
	"ppscript/runtime/script/eventview"

	"go.starlark.net/starlark"
)

// This file runs functions that stay interpreted with package direct if possible.
// It has the hooks for events and states, and repeats an abandoned call with the
// interpreter.

// tooOften is the number of abandoned calls with which the interpreter
// succeeded, after which a function is no longer run directly.
const tooOften = 16

// A shortcut runs a function directly if possible.
type shortcut struct {
	tried bool
	fn    *direct.Function // nil: only the interpreter can run it
	again int              // abandoned calls with which the interpreter succeeded
}

// take calls the function directly; ok is false if the interpreter must make
// the call.
func (c *shortcut) take(f *Func, args starlark.Tuple) (v starlark.Value, ok bool) {
	if !c.tried {
		c.tried = true
		h := f.t.Host()
		c.fn = direct.Compile(h, f.t.Thread, f.fn, direct.Hooks{
			Attr: attrHook, Word: wordHook, Assign: assignHook, AssignWord: assignWordHook,
			Call: emitHook(f),
			Pure: func(x starlark.Value) bool { return pure(h, x) },
		})
	}
	if c.fn == nil {
		return nil, false
	}
	return c.fn.Call(args)
}

// missed records that the interpreter succeeded with an abandoned call.
func (c *shortcut) missed() {
	if c.fn == nil {
		return
	}
	if c.again++; c.again > tooOften {
		c.fn = nil
	}
}

// attrHook reads attributes of events and of states.
func attrHook(name string) func(x starlark.Value) (starlark.Value, bool) {
	var stream *event.Stream
	var cache *eventview.Cache
	var acc *eventview.Access
	var member *stateVar
	return func(x starlark.Value) (starlark.Value, bool) {
		switch x := x.(type) {
		case *eventview.View:
			e := x.Event()
			if e == nil {
				return nil, false
			}
			if acc == nil || e.Stream != stream || x.Cache() != cache {
				if acc = x.Cache().Find(e.Stream, name); acc == nil {
					return nil, false
				}
				stream, cache = e.Stream, x.Cache()
			}
			v, err := acc.Load(x, e)
			return v, err == nil
		case *stateView:
			if member == nil {
				member = x.m.find(name)
			}
			if member == nil || x.f == nil {
				return nil, false
			}
			return x.get(member), true
		}
		return nil, false
	}
}

// assignHook assigns members of states. It assigns nothing else, since other
// values cannot be restored.
func assignHook(name string) func(x, v starlark.Value) bool {
	var member *stateVar
	return func(x, v starlark.Value) bool {
		s, ok := x.(*stateView)
		if !ok || s.f == nil {
			return false
		}
		if member == nil {
			member = s.m.find(name)
		}
		return member != nil && s.set(member, v) == nil
	}
}

// wordHook reads numbers of events and of states.
func wordHook(name string) func(x starlark.Value) (int64, direct.Unit) {
	var stream *event.Stream
	var cache *eventview.Cache
	var acc *eventview.Access
	var member *stateVar
	var unit direct.Unit
	return func(x starlark.Value) (int64, direct.Unit) {
		switch x := x.(type) {
		case *eventview.View:
			e := x.Event()
			if e == nil {
				return 0, direct.NoWord
			}
			if acc == nil || e.Stream != stream || x.Cache() != cache {
				if acc = x.Cache().Find(e.Stream, name); acc == nil {
					return 0, direct.NoWord
				}
				stream, cache, unit = e.Stream, x.Cache(), unitOfKind(acc.Unit())
			}
			if unit != direct.NoWord {
				if n, ok := acc.Word(e); ok {
					return n, unit
				}
			}
		case *stateView:
			if member == nil {
				if member = x.m.find(name); member != nil {
					unit = member.unit()
				}
			}
			if unit != direct.NoWord && x.f != nil {
				return x.f.State[member.slot], unit
			}
		}
		return 0, direct.NoWord
	}
}

// assignWordHook assigns numbers to members of states.
func assignWordHook(name string) func(x starlark.Value, n int64, u direct.Unit) bool {
	var member *stateVar
	var unit direct.Unit
	return func(x starlark.Value, n int64, u direct.Unit) bool {
		s, ok := x.(*stateView)
		if !ok || s.f == nil {
			return false
		}
		if member == nil {
			if member = s.m.find(name); member == nil {
				return false
			}
			unit = member.unit()
		}
		if unit == direct.NoWord || u != unit && (u != direct.Number || n != 0) {
			return false
		}
		s.f.State[member.slot] = n
		return true
	}
}

// unit returns the unit of a member for package direct.
func (v *stateVar) unit() direct.Unit {
	switch {
	case v.texts || v.list != nil:
		return direct.NoWord
	case v.kind == kindInt:
		return direct.Number
	case v.kind == kindNanos:
		return direct.Span
	case v.kind == kindMoment:
		return direct.Moment
	}
	return direct.NoWord
}

// unitOfKind converts a unit of fields to a unit of package direct.
func unitOfKind(u event.Unit, number bool) direct.Unit {
	switch {
	case !number:
		return direct.NoWord
	case u == event.Nanos:
		return direct.Span
	case u == event.Moment:
		return direct.Moment
	}
	return direct.Number
}

// emitHook returns the function that calls the builtin emit.
func emitHook(f *Func) func(fn starlark.Value, names []string) func([]starlark.Value) bool {
	state, _ := f.t.Local(foldKey).(*stateView)
	return func(fn starlark.Value, names []string) func([]starlark.Value) bool {
		if _, ok := fn.(starlark.Callable); !ok || state == nil || !isEmit(f.t.Host(), fn) {
			return nil
		}
		fields := state.m.emits
		args := make([]expr.Arg, len(fields)) // the receiver copies them
		var place []int                       // field index of each value
		for _, name := range names {
			place = append(place,
				slices.IndexFunc(fields, func(f event.Field) bool { return f.Name == name }))
		}
		if len(place) != len(args) || slices.Contains(place, -1) {
			return nil
		}
		return func(vs []starlark.Value) bool {
			if state.f == nil {
				return false
			}
			for i, v := range vs {
				a, err := emitArg(&fields[place[i]], v)
				if err != nil {
					return false
				}
				args[place[i]] = a
			}
			state.emit(args)
			return true
		}
	}
}

// pure reports that a value can be called twice: Starlark's builtins, builtins
// with a Native, and methods of events and texts.
func pure(h *script.Host, x starlark.Value) bool {
	switch x := x.(type) {
	case *eventview.View, starlark.String:
		return true
	case starlark.Callable:
		name := x.Name()
		if u, ok := starlark.Universe[name]; ok && name != "print" && name != "fail" {
			return u == x || h.GuardOf(name, u) == x
		}
		return nativeOf(h, x) != nil
	}
	return false
}

// A restorable keeps the state of a key as it was before a call.
type restorable struct {
	numbers []int64
	texts   [][]byte
}

func (r *restorable) keep(f *expr.Frame) {
	r.numbers = append(r.numbers[:0], f.State...)
	for len(r.texts) < len(f.Texts) {
		r.texts = append(r.texts, nil)
	}
	for i, t := range f.Texts {
		r.texts[i] = append(r.texts[i][:0], t...)
	}
}

func (r *restorable) restore(f *expr.Frame) {
	copy(f.State, r.numbers)
	for i := range f.Texts {
		f.Texts[i] = append(f.Texts[i][:0], r.texts[i]...)
	}
}
