package pipeline

import (
	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func batches() *b.Builtin {
	return &b.Builtin{
		Name:    "batches",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Calls a function of the script for lists of events, in time order.",
		Params: []b.Param{{Name: "fn", Type: b.Func, Required: true,
			Doc: "function of a list of 1 to 1024 events; the list and its events are valid during the call only"}},
		Returns: "log",
		Result:  "what the function prints or keeps in a state()",
		Errors:  "the function fails: the run ends",
		Source:  computed,
		Cost:    "about 50 ns per event and line of a loop over them: interpreted, without the call that each() makes for every event",
		Examples: []b.Example{{Code: `
seen = state(n = 0)

def add(events):
    for e in events:
        seen.n += e.prev_prio

tracepoint("sched:sched_switch").batches(add)`[1:], Output: "<log>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := frontend.NewBatchFunc(c.Host(), c.Func("fn"))
			if err != nil {
				return nil, err
			}
			return &results.Log{Report: &plan.Each{In: in(c), Batch: f}}, nil
		},
	}
}
