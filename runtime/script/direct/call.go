package direct

import (
	"strings"

	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compiles calls: of functions of the script, which are compiled
// together with their caller; of functions that Hooks.Call handles; and of
// builtins without effects.

func (c *compiler) call(e *syntax.CallExpr) eval {
	args, names, ok := c.arguments(e)
	if !ok {
		return c.refuse()
	}
	named := len(names) > 0 && names[len(names)-1] != ""
	if dot, ok := script.Unparen(e.Fn).(*syntax.DotExpr); ok && c.constant(dot.X) == nil {
		return c.method(dot, args, names)
	}
	fn := c.constant(e.Fn)
	if dot, ok := script.Unparen(e.Fn).(*syntax.DotExpr); ok {
		fn = attr(c.constant(dot.X), dot.Name.Name)
		if !c.hooks.Pure(c.constant(dot.X)) {
			return c.refuse()
		}
	}
	if fn == nil {
		return c.refuse()
	}
	if own := c.hooks.Call(fn, names); own != nil {
		vs := make([]starlark.Value, len(args)) // builtins do not keep arguments, and calls are not recursive
		return func(f *frame) starlark.Value {
			for i, x := range args {
				if vs[i] = x(f); vs[i] == nil {
					return nil
				}
			}
			if own(vs) {
				return starlark.None
			}
			return nil
		}
	}
	if called, ok := fn.(*starlark.Function); ok && !named {
		return c.join(called, args)
	}
	if _, dotted := script.Unparen(e.Fn).(*syntax.DotExpr); !dotted && !c.hooks.Pure(fn) {
		return c.refuse()
	}
	return func(f *frame) starlark.Value { return apply(f, fn, args, names) }
}

// arguments compiles the arguments of a call, and returns their keyword names.
func (c *compiler) arguments(e *syntax.CallExpr) (args []eval, names []string, ok bool) {
	for _, a := range e.Args {
		name := ""
		switch x := a.(type) {
		case *syntax.BinaryExpr:
			if x.Op == syntax.EQ {
				name, a = x.X.(*syntax.Ident).Name, x.Y
			}
		case *syntax.UnaryExpr:
			if x.Op == syntax.STAR || x.Op == syntax.STARSTAR {
				return nil, nil, false
			}
		}
		args, names = append(args, c.expr(a)), append(names, name)
	}
	return args, names, true
}

// apply calls a builtin.
func apply(f *frame, fn starlark.Value, args []eval, names []string) starlark.Value {
	plain := make(starlark.Tuple, 0, len(args))
	var named []starlark.Tuple
	for i, x := range args {
		v := x(f)
		switch {
		case v == nil:
			return nil
		case names[i] == "":
			plain = append(plain, v)
		default:
			named = append(named, starlark.Tuple{starlark.String(names[i]), v})
		}
	}
	v, err := starlark.Call(f.thread, fn, plain, named)
	if err != nil {
		return nil
	}
	return v
}

// join compiles a call of another function of the script.
func (c *compiler) join(fn *starlark.Function, args []eval) eval {
	code := c.function(fn)
	if code == nil || len(args) > code.params {
		return c.refuse()
	}
	for _, d := range code.defaults[len(args):] {
		if d == nil {
			return c.refuse()
		}
	}
	mine := c.locals
	return func(f *frame) starlark.Value {
		// The variables of the called function follow ours on the stack.
		var room [6]starlark.Value
		vs := room[:0]
		for _, x := range args {
			v := x(f)
			if v == nil {
				return nil
			}
			vs = append(vs, v)
		}
		f.base += mine
		v := code.call(f, vs)
		f.base -= mine
		return v
	}
}

// method compiles a call x.name(args).
func (c *compiler) method(dot *syntax.DotExpr, args []eval, names []string) eval {
	x, name := c.expr(dot.X), dot.Name.Name
	part := map[string]func(s, part string) bool{
		"startswith": strings.HasPrefix, "endswith": strings.HasSuffix,
	}[name]
	if len(args) != 1 || names[0] != "" {
		part = nil
	}
	return func(f *frame) starlark.Value {
		a := x(f)
		if a == nil {
			return nil
		}
		text, ok := a.(starlark.String)
		if ok && part != nil {
			v := args[0](f)
			if what, ok := v.(starlark.String); ok {
				return starlark.Bool(part(string(text), string(what)))
			}
			return nil
		}
		if !ok && !c.hooks.Pure(a) {
			return nil
		}
		m := attr(a, name)
		if m == nil {
			return nil
		}
		return apply(f, m, args, names)
	}
}
