// Package host declares general functions for scripts that Starlark lacks:
// formatting, mutable state, calls that return their error, facts about the
// machine, and functions that can be compiled for per-event code.
package host

import (
	b "ppscript/builtins"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

const source = "computed in ppscript; any kernel; no privilege"

// Builtins declares the functions.
func Builtins() []*b.Builtin {
	list := []*b.Builtin{
		fmtBuiltin(), stateBuiltin(), tryBuiltin(), structBuiltin(), syscallNumber(),
		syscallParams(), cpuModel(), cpuCores(), dataSource(), byThread(), recorded(),
		verbosity(), sysctl(), hasPMU(), readKernel(), blockDevice(), blockDevices(), ipAddress(), evaluate(),
	}
	return append(list, natives()...)
}

func structBuiltin() *b.Builtin {
	return &b.Builtin{
		Name:    "struct",
		Group:   b.Hosted,
		Summary: "Makes a record with named attributes, which do not change.",
		Params: []b.Param{
			{Name: "attribute", Type: b.Any, Rest: "**", Doc: "name and value of each attribute"},
		},
		Returns:  "struct",
		Result:   "two structs are equal if their attributes are",
		Errors:   "none",
		Source:   source,
		Cost:     "one object",
		Examples: []b.Example{{Code: `struct(pid = 1, comm = "init").comm`, Output: `"init"`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlarkstruct.FromKeywords(starlarkstruct.Default, c.KW), nil
		},
	}
}
