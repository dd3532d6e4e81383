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

// Workshop adds what the REPL has; Tests adds what tests have, too. Without a
// shop there is everything to read about, and nothing to call.
func Workshop(s *explore.Shop) (*builtins.Registry, error) {
	return builtins.NewRegistry(append(groups(), explore.Builtins(s))...)
}

// Tests returns every builtin there is.
func Tests(s *explore.Shop) (*builtins.Registry, error) {
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
