// Package all is the table of all builtins: one line per group. cmd/ppscript,
// the generator of REFERENCE.md and the tests of examples take it from here.
package all

import (
	"ppscript/builtins"
	"ppscript/builtins/assert"
	"ppscript/builtins/explore"
	"ppscript/builtins/host"
	"ppscript/builtins/options"
	"ppscript/builtins/pipeline"
	"ppscript/builtins/results"
	"ppscript/builtins/sources"
	"ppscript/builtins/values"
)

// Registry returns every builtin that a script can use.
func Registry() (*builtins.Registry, error) { return builtins.NewRegistry(groups()...) }

// Workshop adds the builtins of the REPL; Tests adds those of tests, too.
// Without a shop their help can be read, and none of them called.
func Workshop(s *explore.Workbench) (*builtins.Registry, error) {
	return builtins.NewRegistry(append(groups(), explore.Builtins(s))...)
}

// Tests returns every builtin there is.
func Tests(s *explore.Workbench) (*builtins.Registry, error) {
	return builtins.NewRegistry(append(groups(), explore.Builtins(s), assert.Builtins())...)
}

func groups() [][]*builtins.Builtin {
	return [][]*builtins.Builtin{
		options.Builtins(),
		sources.Builtins(),
		sources.ProbeBuiltins(),
		pipeline.Builtins(),
		pipeline.GroupBuiltins(),
		results.Builtins(),
		results.StackBuiltins(),
		values.Builtins(),
		host.Builtins(),
	}
}
