package sources

import (
	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/system/kernel"

	"go.starlark.net/starlark"
)

// splitLocks declares the function that makes split locks, to try the profiler
// split-lock.
func splitLocks() *b.Builtin {
	return &b.Builtin{
		Name:    "split_locks",
		Group:   b.Sources,
		Summary: "Makes split locks during the run, to try a profiler.",
		Returns: "log",
		Result:  "for main to return beside its other results: about a thousand locked additions across two cache lines a second",
		Errors:  "the CPU is not x86; a kernel that kills threads which make split locks",
		Source:  "a thread of ppscript's own",
		Cost:    "each stops the memory of all CPUs for about a microsecond",
		Examples: []b.Example{
			{Code: `type(split_locks()) if cpu_model().arch == "amd64" else "log"`, Output: `"log"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if err := kernel.CheckSplitLocks(); err != nil {
				return nil, err
			}
			return &results.Log{Report: &plan.Busy{Work: func(stop <-chan struct{}) {
				kernel.SplitLocks(stop)
			}}}, nil
		},
	}
}
