package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compiles calls of builtins in per-event functions. Each builtin is
// one declaration in package builtins: its help, the function for the
// interpreter, and its Native, which makes the node of a call. No name of a
// builtin is in this package.

// A Native says how calls of a builtin in a per-event function are compiled.
type Native struct {
	// Returns is the kind of the result; AsFirst means the kind of the first
	// argument.
	Returns Kind
	// Compile makes the result of a call; ok is false for a call that must stay
	// interpreted. If nil, all calls must.
	Compile func(c *NativeCall) (v NativeValue, ok bool)
	// Data makes the result of a call that returns a place in the kernel's memory;
	// nil for other functions.
	Data KernelData
	// List makes what a loop goes over, for the function whose result is the entries of a list of the
	// kernel; nil for all others.
	List KernelList
	// OfName says that the function looks up a name. A call with a constant name is
	// tried before anything is opened, and must succeed.
	OfName bool
	// Pure says that calls with sample values may be tried before events come.
	Pure bool
}

// HasNative is implemented by Starlark values that have a Native.
type HasNative interface {
	starlark.Callable
	// Native says how calls are compiled; nil if they are not.
	Native() *Native
	// Refuses returns the error of all calls with arguments of these types; nil if some
	// call may succeed.
	Refuses(args []ArgType) error
}

// Kinds for Native.Returns.
var (
	IntKind      = kindInt
	TextKind     = kindText
	DurationKind = kindNanos
	SizeKind     = kindSize
	AsFirst      = Kind{state: asFirst} // the kind of the first argument
)

// A NativeCall is one call that Native.Compile compiles.
type NativeCall struct {
	s    *scopeOf
	at   syntax.Position
	f    starlark.Callable
	args []val
}

// A NativeValue is the result of Native.Compile.
type NativeValue struct{ v val }

// Len is the number of arguments.
func (c *NativeCall) Len() int { return len(c.args) }

// Int reports that argument i is an integer with any unit; Signed that it is
// also signed; Plain that it is also without a unit; Text that it is a text.
func (c *NativeCall) Int(i int) bool    { return i < len(c.args) && isInt(c.args[i]) }
func (c *NativeCall) Signed(i int) bool { return c.Int(i) && !c.Node(i).Type().Unsigned }
func (c *NativeCall) Plain(i int) bool  { return c.Signed(i) && c.Unit(i) == event.NoUnit }
func (c *NativeCall) Text(i int) bool   { return i < len(c.args) && isText(c.args[i]) }

// Unit is the unit of argument i.
func (c *NativeCall) Unit(i int) event.Unit { return unitOf(c.args[i]) }

// Const returns argument i if it is a constant, else nil.
func (c *NativeCall) Const(i int) starlark.Value { return c.args[i].c }

// ConstInt returns argument i in its base unit, if it is a constant number of
// 64 bits.
func (c *NativeCall) ConstInt(i int) (int64, bool) {
	if c.args[i].c == nil {
		return 0, false
	}
	return toWord(c.args[i].c)
}

// Node returns the node of argument i.
func (c *NativeCall) Node(i int) expr.Node { return c.s.nodeOf(c.at, c.args[i]) }

// Sum returns the sum of the elements, if the only argument is a list of a
// fold's state.
func (c *NativeCall) Sum() (v NativeValue, ok bool) {
	if len(c.args) != 1 || c.args[0].list == nil {
		return v, false
	}
	list := c.args[0].list
	plus := &syntax.BinaryExpr{OpPos: c.at, Op: syntax.PLUS}
	for k, x := range c.s.elements(c.at, list) {
		if !isInt(x) || x.unit == event.Moment {
			return v, false
		}
		if k == 0 {
			v.v = x
		} else {
			v.v = c.s.operate(plus, v.v, x)
		}
	}
	return v, true
}

// Services returns the services of the function's scope.
func (c *NativeCall) Services() *expr.Services { return &c.s.sc.Services }

// Arg returns argument i as the result.
func (c *NativeCall) Arg(i int) (NativeValue, bool) { return NativeValue{c.args[i]}, true }

// Measured returns a node with a unit as the result.
func (c *NativeCall) Measured(n expr.Node, unit event.Unit) (NativeValue, bool) {
	return NativeValue{val{node: n, unit: unit}}, true
}

// Make makes a node of n as the result.
func (c *NativeCall) Make(n expr.Native) (NativeValue, bool) { return c.Of(expr.NewNative(n)) }

// Of returns a node as the result. err is an error of the script.
func (c *NativeCall) Of(n expr.Node, err error) (NativeValue, bool) {
	c.s.must(c.at, err)
	return NativeValue{val{node: n}}, true
}

// Evaluate calls the builtin now, with constant arguments.
func (c *NativeCall) Evaluate() (NativeValue, bool) {
	args := make(starlark.Tuple, len(c.args))
	for i, a := range c.args {
		args[i] = a.c
	}
	v, err := starlark.Call(&starlark.Thread{Name: c.f.Name()}, c.f, args, nil)
	c.s.must(c.at, err)
	return NativeValue{val{c: v}}, true
}

// nativeOf returns the Native of f; nil if it has none. Only builtins of the
// host have one, not values made by scripts.
func nativeOf(h *script.Host, f starlark.Callable) *Native {
	n, ok := f.(HasNative)
	if !ok || h.Predeclared()[f.Name()] != f {
		return nil
	}
	return n.Native()
}

// nativeKind is the kind of the result of a call of f.
func nativeKind(f starlark.Callable, args []role) (Kind, bool) {
	n, ok := f.(HasNative)
	if !ok || n.Native() == nil {
		return kindUnknown, false
	}
	returns := n.Native().Returns
	if returns != AsFirst {
		return returns, true
	}
	if len(args) == 0 || !args[0].kind.simple() {
		return kindUnknown, true
	}
	return args[0].kind, true
}
