// Package all collects the declarations of all builtins, one line per group,
// for cmd/ppscript, the generator of REFERENCE.md and the tests of examples.
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

// Registry returns the builtins that every script can use.
func Registry() (*builtins.Registry, error) { return builtins.NewRegistry(groups()...) }

// Workshop returns these and the builtins of the prompt. s does their work; if
// it is nil, their help can be read, but they cannot be called.
func Workshop(s *explore.Workbench) (*builtins.Registry, error) {
	return builtins.NewRegistry(append(groups(), explore.Builtins(s))...)
}

// Tests returns all builtins, also the ones for the prompt and for tests. s is
// as for Workshop.
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
