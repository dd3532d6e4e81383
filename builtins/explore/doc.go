// Package explore declares the builtins of the prompt (REPL) and of tests: run
// a pipeline now and return its result as a value, record events and read them
// repeatedly, list events and fields.
//
// A script that runs as a profiler does not have these names: its main returns
// results, and the host runs them. The prompt and `ppscript test` provide a
// Workbench, which runs pipelines for the builtins. The reference is made
// without one.
package explore

import (
	b "ppscript/builtins"
)

const computed = "computed in ppscript; any kernel; no privilege"

// Builtins declares the builtins. s may be nil if none of them will be called.
func Builtins(s *Workbench) []*b.Builtin {
	list := []*b.Builtin{
		s.run(), s.script(), s.record(), s.use(), s.explain(), s.fields(), s.findEvents(),
		s.doctor(), s.reload(), s.plot(),
	}
	return append(list, resultBuiltins()...)
}
