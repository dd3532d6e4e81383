package host

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// This file declares the functions of package native as builtins. Each function with parameters
// that only scripts can have, such as dicts, has a file of its own, with its help, its code for the
// interpreter and the compilation of calls.

const nativeCost = "2 to 10 ns in a native function, 50 ns in an interpreted one"

func natives() []*b.Builtin {
	list := []*b.Builtin{bucket(), flags(), userString(), sum(), percent(), commandLine(), kernelString(),
		enumerator(), listEntries()}
	for _, f := range native.Functions {
		if f.Name != "" {
			list = append(list, builtinOf(f))
		}
	}
	return list
}

// address accepts all 64-bit numbers, also unsigned ones.
var address = b.Is("int")

// builtinOf declares the builtin for a native function.
func builtinOf(f *native.Function) *b.Builtin {
	x := &b.Builtin{
		Name: f.Name, Group: b.Hosted, Summary: f.Summary, Result: f.Result,
		Errors: f.Errors, Source: f.Source, Cost: f.Cost,
	}
	for _, p := range f.Params {
		x.Params = append(x.Params, paramOf(p))
	}
	for _, e := range f.Examples {
		x.Examples = append(x.Examples, b.Example{Code: e.Code, Output: e.Output})
	}
	x.Impl = (&interpreter{f: f}).call
	switch f.Returns {
	case native.Place:
		x.Returns, x.Native = "a place in the kernel's memory", &frontend.Native{Data: f.Memory}
		x.Impl = func(*b.Call) (starlark.Value, error) { return nil, onlyPrograms(f.Name) }
	case native.Text:
		x.Returns, x.Native = "string", &frontend.Native{Returns: frontend.TextKind, Compile: compile(f)}
	default:
		x.Returns, x.Native = "int", &frontend.Native{Returns: frontend.IntKind, Compile: compile(f)}
	}
	return x
}

// paramOf converts a parameter of a native function.
func paramOf(p native.Param) b.Param {
	x := b.Param{Name: p.Name, Doc: p.Doc, Unit: p.Unit, Required: !p.Optional}
	switch p.Kind {
	case native.Int:
		x.Type = b.Int
	case native.Amount:
		x.Type = b.Or(b.As(address, "int"), b.Is("duration"), b.Is("size"))
	case native.Address, native.Typed:
		x.Type = b.As(address, "int")
	case native.Text, native.Name:
		x.Type = b.String
	case native.Flag:
		x.Type, x.Default, x.Named, x.Required = b.Bool, starlark.False, true, false
	}
	return x
}

// compile compiles calls whose arguments have the types of the parameters; other calls stay
// interpreted.
func compile(f *native.Function) func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
	low, high := f.Bounds()
	return func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
		if c.Len() < low || c.Len() > high {
			return v, false
		}
		k := native.Call{Services: c.Services()}
		for i := range c.Len() {
			takes := map[native.Kind]func(int) bool{
				native.Int: c.Plain, native.Amount: c.Int, native.Address: c.Int, native.Text: c.Text,
			}[f.Params[i].Kind]
			if !takes(i) {
				return v, false
			}
			k.Args = append(k.Args, c.Node(i))
		}
		n, err := f.Call(&k)
		if errors.Is(err, native.ErrMissing) {
			return v, false
		}
		return c.Of(n, err)
	}
}

// An interpreter executes calls of a native function in code that stays interpreted. Several
// goroutines may use it.
type interpreter struct {
	f    *native.Function
	last atomic.Pointer[preparedCode]
}

// preparedCode is the code of a native function, built once for some services. native is nil if
// the function is an expression without Go code.
type preparedCode struct {
	services *expr.Services
	native   *expr.Native
}

// prepare builds the code as for a compiled function, with variables as arguments.
func (in *interpreter) prepare(s *expr.Services) (*preparedCode, error) {
	if p := in.last.Load(); p != nil && p.services == s {
		return p, nil
	}
	k := native.Call{Services: s}
	for i, p := range in.f.Params {
		t := map[native.Kind]expr.Type{native.Text: expr.TStr, native.Address: expr.TUint}[p.Kind]
		if t == (expr.Type{}) {
			t = expr.TInt
		}
		if p.Kind != native.Flag {
			k.Args = append(k.Args, expr.NewLocal(i, p.Name, t))
		}
	}
	n, err := in.f.Call(&k)
	if err != nil {
		return nil, err
	}
	made := &preparedCode{services: s}
	if c, ok := n.(*expr.Native); ok && slices.Equal(c.Args, k.Args) {
		made.native = c
	}
	in.last.Store(made)
	return made, nil
}

// call executes a call.
func (in *interpreter) call(c *b.Call) (starlark.Value, error) {
	p, err := in.prepare(frontend.ServicesOf(c.Thread))
	if errors.Is(err, native.ErrMissing) {
		return nil, (&diag.Error{Op: in.f.Name, Class: diag.Run, Cause: err}).WithHint(
			"call it in a function of the event: lambda e: %s(...)", in.f.Name)
	}
	if err != nil {
		return nil, err
	}
	call := calls.Get().(*callMemory)
	defer calls.Put(call)
	call.args = call.args[:0]
	flagged, unsigned := false, -1
	for i := range in.f.Params {
		name, kind := in.f.Params[i].Name, in.f.Params[i].Kind
		v := c.Value(name)
		if v == starlark.None {
			continue
		}
		if n, ok := v.(starlark.Int); ok && kind == native.Amount {
			if _, signed := n.Int64(); !signed {
				if _, fits := n.Uint64(); !fits {
					return nil, c.Errorf(name, "got %s, want a number of 64 bits", v)
				}
				flagged, unsigned = true, i
			}
		}
		call.args = append(call.args, argOf(v))
		flagged = flagged || kind == native.Flag && bool(v.Truth())
	}
	if p.native != nil && !flagged {
		call.frame.Reset(nil)
		return call.run(p.native)
	}

	k := native.Call{Services: p.services}
	for i, x := range call.args {
		one := &expr.Const{T: expr.TInt, Int: x.I}
		switch {
		case x.Kind == expr.Str:
			one = &expr.Const{T: expr.TStr, Str: string(x.S)}
		case i == unsigned:
			one.T = expr.TUint
		}
		k.Args = append(k.Args, one)
	}
	n, err := in.f.Call(&k)
	if err != nil {
		return nil, err
	}
	x, err := expr.Evaluate(n)
	switch {
	case err != nil:
		return nil, err
	case x.T.Kind == expr.Str:
		return starlark.String(x.Str), nil
	}
	return starlark.MakeInt64(x.Int), nil
}

// callMemory is the reusable memory of a call.
type callMemory struct {
	frame expr.Frame
	args  []expr.Arg
}

var calls = sync.Pool{New: func() any { return new(callMemory) }}

// run calls the Go code of a native function.
func (x *callMemory) run(n *expr.Native) (v starlark.Value, err error) {
	args := x.args[:len(n.Args)]
	switch {
	case n.Int1 != nil:
		v = starlark.MakeInt64(n.Int1(&x.frame, args[0].I))
	case n.Int != nil:
		v = starlark.MakeInt64(n.Int(&x.frame, args))
	case n.Str1 != nil:
		v = starlark.String(n.Str1(&x.frame, args[0].I))
	default:
		v = starlark.String(n.Str(&x.frame, args))
	}
	return v, x.frame.Err
}

// argOf converts an argument. Of numbers wider than 64 bits it uses the low bits.
func argOf(v starlark.Value) expr.Arg {
	switch v := v.(type) {
	case starlark.String:
		return expr.Arg{Kind: expr.Str, S: expr.Bytes(string(v))}
	case starlark.Bool:
		return expr.Arg{Kind: expr.Int, I: event.Bit(bool(v))}
	case value.Duration:
		return expr.Arg{Kind: expr.Int, I: int64(v)}
	case value.Size:
		return expr.Arg{Kind: expr.Int, I: int64(v)}
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return expr.Arg{Kind: expr.Int, I: n}
		}
		n, _ := v.Uint64()
		return expr.Arg{Kind: expr.Int, I: int64(n)}
	}
	panic("BUG: a native takes a " + v.Type())
}

// numberOfName compiles a function with one name as argument. A constant name is
// looked up when the code is compiled, so that the call becomes a constant.
func numberOfName() *frontend.Native {
	return &frontend.Native{
		Returns: frontend.IntKind,
		OfName:  true,
		Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
			if c.Len() != 1 || c.Const(0) == nil {
				return v, false
			}
			return c.Evaluate()
		},
	}
}
