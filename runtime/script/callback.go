package script

import (
	"ppscript/runtime/event"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// Callback returns a function that the host calls while a session runs, such as
// on_interval; nil if the script does not define it. want is the number of its
// arguments.
func (h *Host) Callback(m *Module, name string, want int) (func(args ...event.Value) error, error) {
	v, ok := m.Globals[name]
	if !ok {
		return nil, nil
	}
	fn, ok := v.(starlark.Callable)
	if !ok {
		return nil, diag.Errorf(diag.Run, "load", m.Name, "%s is a %s, want a function", name, v.Type()).
			WithHint("define it: def %s(...):", name)
	}
	if f, ok := fn.(*starlark.Function); ok && !f.HasVarargs() && f.NumParams() != want {
		return nil, diag.Errorf(diag.Run, "load", m.Name, "%s has %d parameters, want %d", name,
			f.NumParams(), want).
			WithHint("%s", callbackHint[want])
	}
	return func(args ...event.Value) error {
		vs := make([]starlark.Value, len(args))
		for i, a := range args {
			vs[i] = value.ToStarlark(a)
		}
		_, err := h.Call(fn, vs...)
		return err
	}, nil
}

var callbackHint = map[int]string{
	0: "define on_interval and on_exit without parameters",
	1: "define on_lost with one parameter, the number of lost events: def on_lost(n):",
}
