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
		Summary: "The threads that are there when the run begins: one that sleeps all the time has no other event.",
		Returns: "stream",
		Result:  "an event for each thread: tid, pid, comm. Its time is that of the first event of the run, and it comes before that",
		Errors:  "none; a thread that ends before it is listed has no event",
		Source:  "files of processes in /proc, of those that the user named if an expression has traced(); of a recording, the records of what was there before it began",
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
