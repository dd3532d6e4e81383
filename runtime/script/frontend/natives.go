package frontend

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lowers calls of Starlark's own functions, and of builtins by their
// Native.

const servicesKey = "ppscript.services"

// ServicesOf returns the services for builtins in a per-event function; nil
// outside of one.
func ServicesOf(t *starlark.Thread) *expr.Services {
	if s, ok := t.Local(servicesKey).(*expr.Services); ok {
		return s
	}
	if h := script.HostOf(t); h != nil {
		return h.Session.Services
	}
	return nil
}

// lowerBuiltin lowers a call of a builtin; ok is false if there is no rule for
// it.
func (s *scopeOf) lowerBuiltin(e *syntax.CallExpr, f starlark.Callable, args []val) (v val, ok bool) {
	if starlark.Universe[f.Name()] == f {
		return s.lowerUniversal(e, f.Name(), args)
	}
	n := nativeOf(s.host, f)
	if n == nil || n.Compile == nil {
		return val{}, false
	}
	made, ok := n.Compile(&NativeCall{s: s, at: e.Lparen, f: f, args: args})
	return made.v, ok
}

// lowerUniversal lowers Starlark's own functions.
func (l *lowerer) lowerUniversal(e *syntax.CallExpr, name string, args []val) (val, bool) {
	x := func(i int) expr.Node { return l.nodeOf(e.Lparen, args[i]) }
	constant := len(args) > 0
	for _, a := range args {
		constant = constant && a.c != nil
	}
	if constant {
		switch name {
		case "len", "bool", "int", "str", "min", "max", "abs", "range", "float", "tuple", "sorted",
			"reversed", "enumerate", "zip", "list":
			vs := make(starlark.Tuple, len(args))
			for i, a := range args {
				vs[i] = a.c
			}
			v, err := starlark.Call(&starlark.Thread{Name: name},
				l.host.GuardOf(name, starlark.Universe[name]), vs, nil)
			l.must(e.Lparen, err)
			return val{c: v}, true
		}
		return val{}, false
	}
	var n expr.Node
	var err error
	switch name {
	case "bool":
		if len(args) == 1 {
			return val{node: l.truth(e.Lparen, args[0])}, true
		}
		return val{}, false
	case "len":
		if len(args) == 1 && args[0].list != nil {
			return val{c: starlark.MakeInt(len(args[0].list.list))}, true
		}
		if len(args) != 1 || !isText(args[0]) {
			return val{}, false
		}
		n, err = expr.NewUnary(expr.OpStrLen, x(0))
	case "int":
		switch {
		case len(args) == 1 && isInt(args[0]) && unitOf(args[0]) == event.NoUnit:
			n = x(0)
		case len(args) == 1 && isBool(args[0]):
			n, err = expr.NewUnary(expr.OpToInt, x(0))
		default:
			return val{}, false
		}
	case "abs":
		if len(args) != 1 || !isInt(args[0]) || unitOf(args[0]) != event.NoUnit || x(0).Type().Unsigned {
			return val{}, false
		}
		n, err = expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: []expr.Node{x(0)},
			HostOnly: "it has Go code only",
			Int1: func(f *expr.Frame, x int64) int64 {
				if x == -x && x != 0 {
					f.Fail(expr.ErrOverflow)
				}
				return max(x, -x)
			}})
	case "float":
		if len(args) != 1 || !isNumber(args[0]) || unitOf(args[0]) != event.NoUnit {
			return val{}, false
		}
		n = l.double(e.Lparen, args[0])
	case "min", "max":
		return l.extreme(e, name, args)
	case "str":
		return l.str(e, args)
	default:
		return val{}, false
	}
	l.must(e.Lparen, err)
	return val{node: n}, true
}

// extreme lowers min or max of numbers with one unit.
func (l *lowerer) extreme(e *syntax.CallExpr, name string, args []val) (val, bool) {
	if len(args) == 1 && args[0].list != nil {
		args = l.elements(e.Lparen, args[0].list)
		if len(args) == 1 {
			return args[0], true
		}
	}
	if len(args) < 2 {
		return val{}, false
	}
	nodes := make([]expr.Node, len(args))
	for i, a := range args {
		if !isInt(a) || unitOf(a) != unitOf(args[0]) {
			return val{}, false
		}
		if nodes[i] = l.nodeOf(e.Lparen, a); nodes[i].Type().Unsigned {
			return val{}, false
		}
	}
	n, err := expr.NewExtreme(name == "min", nodes...)
	l.must(e.Lparen, err)
	return val{node: n, unit: unitOf(args[0])}, true
}

// str lowers str() of a number or text.
func (l *lowerer) str(e *syntax.CallExpr, args []val) (val, bool) {
	switch {
	case len(args) != 1 || unitOf(args[0]) != event.NoUnit:
		return val{}, false
	case isText(args[0]):
		return args[0], true
	case isInt(args[0]):
		return l.decimal(e.Lparen, args[0]), true
	}
	return val{}, false
}

// builtinKind is the kind of a builtin's result, as far as it can be inferred.
func builtinKind(f starlark.Callable, args []role) Kind {
	if k, ok := nativeKind(f, args); ok {
		return k
	}
	first := kindUnknown
	if len(args) > 0 {
		first = args[0].kind
	}
	switch f.Name() {
	case "len", "int", "hash", "ord":
		return kindInt
	case "str", "repr", "type", "chr":
		return kindText
	case "bool", "any", "all", "hasattr":
		return kindBool
	case "float":
		return kindFloat
	case "abs":
		return first
	case "min", "max":
		k := kindUnknown
		for _, a := range args {
			k = joinKinds(k, a.kind)
		}
		if !k.simple() {
			return kindUnknown
		}
		return k
	}
	return kindUnknown
}

// methodKind is the kind of the result of x.name(args).
func methodKind(x role, name string, args []role) Kind {
	switch {
	case x.ev != nil && (strings.TrimPrefix(name, "_") == "symbolic" ||
		strings.TrimPrefix(name, "_") == "text"):
		return kindText
	case x.kind == kindText:
		switch name {
		case "startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "isupper",
			"islower", "istitle":
			return kindBool
		case "find", "rfind", "index", "rindex", "count":
			return kindInt
		case "upper", "lower", "strip", "lstrip", "rstrip", "replace", "join", "format", "capitalize",
			"title", "removeprefix", "removesuffix":
			return kindText
		}
	case name == "get" && x.c != nil:
		d, ok := x.c.(*starlark.Dict)
		if !ok {
			return kindUnknown
		}
		k := kindUnknown
		for _, kv := range d.Items() {
			k = joinKinds(k, kindOf(kv[1]))
		}
		if len(args) > 1 {
			k = joinKinds(k, args[1].kind)
		}
		return k
	}
	return kindUnknown
}
