// Package explore declares the builtins of the REPL and of tests, which
// scripts lack: run a pipeline now and hold its result as a value, record and
// look again, ask what events there are.
//
// Scripts that are run as profilers do not have these names: they return
// results, and the host runs them. The REPL and `ppscript test` do. Both give
// a Workbench, which says how to run; the reference is made without one.
package explore

import (
	b "ppscript/builtins"
)

const computed = "computed in ppscript; any kernel; no privilege"

// Builtins are the declarations. s may be nil where nothing will be called.
func Builtins(s *Workbench) []*b.Builtin {
	list := []*b.Builtin{
		s.run(), s.script(), s.record(), s.use(), s.explain(), s.fields(), s.findEvents(),
		s.doctor(), s.reload(), s.plot(),
	}
	return append(list, resultBuiltins()...)
}
