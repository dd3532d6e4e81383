package sources

import (
	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

func threads() *b.Builtin {
	return &b.Builtin{
		Name:    "threads",
		Group:   b.Sources,
		Summary: "The threads that exist when the run begins. A thread that sleeps all the time has no other event.",
		Returns: "stream",
		Result:  "an event for each thread: tid, pid, comm. These events come before the first event of the run, and have its time",
		Errors:  "none; a thread that ends before it is listed has no event",
		Source:  "files of processes in /proc, only of those that the user named if an expression has traced(); in a recording, its records of threads that existed before",
		Cost:    "10 us for each thread at the beginning",
		Examples: []b.Example{
			{Code: `merge(threads().let(new = 0), tracepoint("sched:sched_wakeup_new").let(new = 1)).by("new").count()`,
				Output: "<table of new, count>"},
		},
		Impl: func(*b.Call) (starlark.Value, error) {
			return &pipeline.Stream{S: &plan.Records{}}, nil
		},
	}
}
