package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file is how the functions that run per event are compiled. Each is one
// declaration in package builtins: its help, what the interpreter calls, and
// its Native, which makes the node of a call. Nothing here knows their names.

// A Native says how calls of a builtin in a per-event function are compiled.
type Native struct {
	// Returns is the kind of its result; AsFirst is the kind of its first argument.
	Returns Kind
	// Compile makes the result of a call; ok is false for one that must stay
	// interpreted. Nil: all of them do.
	Compile func(c *NativeCall) (v NativeValue, ok bool)
	// Data makes the result of a call that leads into the kernel's memory; nil for
	// other functions.
	Data KernelData
	// OfName says that it finds what a name stands for: a call with a constant name
	// must succeed, which is tried before anything is opened.
	OfName bool
	// Pure says that calls with values such as an event may have are tried before events come.
	Pure bool
}

// HasNative is what a Starlark value implements that has a Native.
type HasNative interface {
	starlark.Callable
	// Native is how calls of it are compiled; nil if they are not.
	Native() *Native
	// Refuses is the error of all calls with arguments of these types; nil if there may be
	// one that succeeds.
	Refuses(args []ArgType) error
}

// The kinds that natives return.
var (
	IntKind      = kindInt
	TextKind     = kindText
	DurationKind = kindNanos
	SizeKind     = kindSize
	AsFirst      = Kind{state: asFirst} // as the first argument
)

// A NativeCall is one call of a Native that is compiled.
type NativeCall struct {
	s    *scopeOf
	at   syntax.Position
	f    starlark.Callable
	args []val
}

// A NativeValue is what such a call is.
type NativeValue struct{ v val }

// Len is the number of arguments.
func (c *NativeCall) Len() int { return len(c.args) }

// Int says that argument i is a number, whatever it measures; Signed that it has
// a sign too; Plain that it measures nothing besides; Text that it is a text.
func (c *NativeCall) Int(i int) bool    { return i < len(c.args) && isInt(c.args[i]) }
func (c *NativeCall) Signed(i int) bool { return c.Int(i) && !c.Node(i).Type().Unsigned }
func (c *NativeCall) Plain(i int) bool  { return c.Signed(i) && c.Unit(i) == event.NoUnit }
func (c *NativeCall) Text(i int) bool   { return i < len(c.args) && isText(c.args[i]) }

// Unit is what argument i measures.
func (c *NativeCall) Unit(i int) event.Unit { return unitOf(c.args[i]) }

// Const is argument i if it is a constant, else nil; ConstInt is one that is a
// number of 64 bits.
func (c *NativeCall) Const(i int) starlark.Value { return c.args[i].c }

// ConstInt is argument i in its base unit, if it is a constant number.
func (c *NativeCall) ConstInt(i int) (int64, bool) {
	if c.args[i].c == nil {
		return 0, false
	}
	return toWord(c.args[i].c)
}

// Node is what computes argument i.
func (c *NativeCall) Node(i int) expr.Node { return c.s.nodeOf(c.at, c.args[i]) }

// Sum adds up the argument if it is one list of a fold's state.
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

// Services are what it can ask of the outside.
func (c *NativeCall) Services() *expr.Services { return &c.s.sc.Services }

// Arg is argument i itself as the result.
func (c *NativeCall) Arg(i int) (NativeValue, bool) { return NativeValue{c.args[i]}, true }

// Measured is a node that measures something as the result.
func (c *NativeCall) Measured(n expr.Node, unit event.Unit) (NativeValue, bool) {
	return NativeValue{val{node: n, unit: unit}}, true
}

// Make is a node of n as the result.
func (c *NativeCall) Make(n expr.Native) (NativeValue, bool) { return c.Of(expr.NewNative(n)) }

// Of is a node as the result. An error is one of the script.
func (c *NativeCall) Of(n expr.Node, err error) (NativeValue, bool) {
	c.s.must(c.at, err)
	return NativeValue{val{node: n}}, true
}

// Evaluate calls the builtin now, with its constant arguments.
func (c *NativeCall) Evaluate() (NativeValue, bool) {
	args := make(starlark.Tuple, len(c.args))
	for i, a := range c.args {
		args[i] = a.c
	}
	v, err := starlark.Call(&starlark.Thread{Name: c.f.Name()}, c.f, args, nil)
	c.s.must(c.at, err)
	return NativeValue{val{c: v}}, true
}

// nativeOf is how calls of f are compiled; nil if they are not. Only builtins of
// the host count, not values that a script made.
func nativeOf(h *script.Host, f starlark.Callable) *Native {
	n, ok := f.(HasNative)
	if !ok || h.Predeclared()[f.Name()] != f {
		return nil
	}
	return n.Native()
}

// nativeKind is the kind of what a call of f returns.
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
