package builtins

import (
	"fmt"

	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// A Call has the arguments of one call of a builtin, checked against the
// declaration. It is valid during the call only.
type Call struct {
	Thread   *starlark.Thread
	Builtin  *Builtin
	Receiver starlark.Value // the value whose method is called; nil for functions

	args  []starlark.Value // by position in Params; nil if absent
	named []bool           // the argument was given by name
	Rest  starlark.Tuple   // arguments of a * parameter
	KW    []starlark.Tuple // arguments of a ** parameter: (name, value), in order
}

func (c *Call) index(name string) int {
	for i := range c.Builtin.Params {
		if c.Builtin.Params[i].Name == name {
			return i
		}
	}
	panic("BUG: " + c.Builtin.FullName() + " declares no parameter " + name)
}

// Has reports that the argument was given and is not None.
func (c *Call) Has(name string) bool {
	v := c.args[c.index(name)]
	return v != nil && v != starlark.None
}

// Value returns the argument, else the declared default, else None.
func (c *Call) Value(name string) starlark.Value {
	i := c.index(name)
	if v := c.args[i]; v != nil && v != starlark.None {
		return v
	}
	if d := c.Builtin.Params[i].Default; d != nil {
		if _, text := d.(Text); !text {
			return d
		}
	}
	return starlark.None
}

// String returns a string argument; "" if absent.
func (c *Call) String(name string) string {
	s, _ := starlark.AsString(c.Value(name))
	return s
}

// Int returns an int argument; 0 if absent.
func (c *Call) Int(name string) int64 {
	if i, ok := c.Value(name).(starlark.Int); ok {
		n, _ := i.Int64()
		return n
	}
	return 0
}

// Float returns a number argument; 0 if absent.
func (c *Call) Float(name string) float64 {
	f, _ := starlark.AsFloat(c.Value(name))
	return f
}

// Bool returns the truth of an argument; false if absent.
func (c *Call) Bool(name string) bool { return bool(c.Value(name).Truth()) }

// Duration returns a duration argument in ns; 0 if absent.
func (c *Call) Duration(name string) int64 {
	d, _ := c.Value(name).(value.Duration)
	return int64(d)
}

// Size returns a size argument in bytes; 0 if absent.
func (c *Call) Size(name string) int64 {
	n, _ := c.Value(name).(value.Size)
	return int64(n)
}

// Unit returns a unit argument; ok is false if absent.
func (c *Call) Unit(name string) (u unit.Unit, ok bool) {
	v := c.Value(name)
	if v == starlark.None {
		return unit.Unit{}, false
	}
	u, err := value.UnitOf(v)
	return u, err == nil
}

// List returns a list argument; nil if absent.
func (c *Call) List(name string) []starlark.Value {
	t, _ := c.Value(name).(starlark.Tuple)
	return t
}

// Strings returns an argument that is a list of strings; nil if absent. A
// single string becomes a list of one.
func (c *Call) Strings(name string) []string {
	v := c.Value(name)
	if s, ok := starlark.AsString(v); ok {
		return []string{s}
	}
	var out []string
	t, _ := v.(starlark.Tuple)
	for _, m := range t {
		if s, ok := starlark.AsString(m); ok {
			out = append(out, s)
		}
	}
	return out
}

// Func returns a function argument; nil if absent or not a function.
func (c *Call) Func(name string) starlark.Callable {
	f, _ := c.Value(name).(starlark.Callable)
	return f
}

// Host returns the host that runs the script.
func (c *Call) Host() *script.Host { return script.HostOf(c.Thread) }

// Pos returns the position of the call in the script, file:line:col; "" if no
// script calls.
func (c *Call) Pos() string {
	for i := range c.Thread.CallStackDepth() {
		if p := c.Thread.CallFrame(i).Pos; p.Line > 0 {
			return p.String()
		}
	}
	return ""
}

// Errorf makes an error about an argument. The message names the builtin and
// the parameter, and points at the argument in the script.
func (c *Call) Errorf(param, format string, args ...any) error {
	return c.blame(param, fmt.Errorf(format, args...), "")
}

// Error is Errorf with a cause and a hint.
func (c *Call) Error(param string, cause error, hint string) error {
	return c.blame(param, cause, hint)
}

func (c *Call) blame(param string, cause error, hint string) error {
	i := c.index(param)
	if hint == "" {
		hint = c.Builtin.helpHint()
	}
	ae := &script.ArgError{Index: i}
	if c.named != nil && c.named[i] {
		ae.Keyword = param
	}
	ae.Err = &diag.Error{Op: c.Builtin.FullName(), Subject: param, Cause: cause, Hint: hint}
	return ae
}
