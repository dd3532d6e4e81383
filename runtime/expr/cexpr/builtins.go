package cexpr

import (
	"sort"
	"strings"
	"sync"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/native"
)

// standard has the functions of every scope: the functions of package native, additional
// ones of perf-prof, and the helpers of print fmts, which start with two underscores. It
// does not change after it was made.
var standard = sync.OnceValue(makeStandard)

func makeStandard() map[string]Builtin {
	m := map[string]Builtin{
		"printf":      {"printf(format, ...)", 1, -1, lowerPrintf},
		"system":      {"system(format, ...)", 1, -1, lowerSystem},
		"symbolic":    {"symbolic(field)", 1, 1, lowerNameOf},
		"ip_address":  {"ip_address(bytes)", 1, 1, lowerIPAddress},
		expr.UserText: {"user_string(address)", 1, 2, lowerUserText},
	}
	for _, f := range native.Functions {
		low, high := f.Bounds()
		for _, usage := range f.C {
			m[native.CName(usage)] = Builtin{usage, low, high, lowerNative(f)}
		}
	}
	addPrintHelpers(m)
	addKernel(m)
	return m
}

// A Builtin lowers calls of one name. It reads the syntax trees of the
// arguments from the Call, and makes a node, usually a Native.
type Builtin struct {
	// Usage is shown when a call has the wrong number of arguments:
	// "strncmp(a, b, n)".
	Usage string
	// Min and Max bound the number of arguments; Max < 0 means no bound.
	Min, Max int
	// Lower makes the node. Unless it calls Call.As, the C type of the result
	// is int for a bool, char * for a Str, and long or unsigned long for an
	// Int.
	Lower func(call *Call) (expr.Node, error)
}

// functions are the functions that an expression can call. Functions of Text.Builtins hide
// standard ones.
type functions struct{ own, standard map[string]Builtin }

// find finds a function by name, first in Text.Builtins, then in standard.
func (f functions) find(name string) (Builtin, bool) {
	if b, ok := f.own[name]; ok {
		return b, true
	}
	b, ok := f.standard[name]
	return b, ok
}

// names lists the names of the functions, sorted.
func (f functions) names() []string {
	var names []string
	for n := range f.own {
		names = append(names, n)
	}
	for n := range f.standard {
		if _, hidden := f.own[n]; !hidden {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// forUsers lists the functions that a user may want to call.
func (f functions) forUsers() string {
	var keep []string
	for _, n := range f.names() {
		if !strings.HasPrefix(n, "__") {
			keep = append(keep, n)
		}
	}
	return joinNames(keep)
}

func missing(k *Call, what string) error {
	return k.Errorf(-1, "%s not available here", what)
}

// lowerNative lowers a call of a function of package native.
func lowerNative(f *native.Function) func(*Call) (expr.Node, error) {
	return func(k *Call) (expr.Node, error) {
		if f.Memory != nil {
			return k.memoryCall(f)
		}
		s := &k.l.sc.Services
		if f.Needs.Here != nil && !f.Needs.Here(s) {
			return nil, missing(k, f.Needs.Missing)
		}
		call := native.Call{Services: s, C: true}
		for i := range k.Args {
			lower := func(i int) (expr.Node, error) { return k.IntAs(i, f.Params[i].C) }
			if f.Params[i].Kind == native.Text {
				lower = k.Str
			}
			n, err := lower(i)
			if err != nil {
				return nil, err
			}
			call.Args = append(call.Args, n)
		}
		if f.CType != nil {
			k.As(f.CType)
		}
		return f.Call(&call)
	}
}
