// Package all is the table of all builtins: one line per group. cmd/ppscript,
// the generator of REFERENCE.md and the tests of examples take it from here.
package all

import (
	"ppscript/builtins"
	"ppscript/builtins/host"
	"ppscript/builtins/options"
	"ppscript/builtins/pipeline"
	"ppscript/builtins/results"
	"ppscript/builtins/sources"
	"ppscript/builtins/values"
)

// Registry returns every builtin there is.
func Registry() (*builtins.Registry, error) {
	return builtins.NewRegistry(
		options.Builtins(),
		sources.Builtins(),
		sources.ProbeBuiltins(),
		pipeline.Builtins(),
		pipeline.GroupBuiltins(),
		results.Builtins(),
		results.StackBuiltins(),
		values.Builtins(),
		host.Builtins(),
	)
}
