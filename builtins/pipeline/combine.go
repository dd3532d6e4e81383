package pipeline

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

func merge() *b.Builtin {
	return &b.Builtin{
		Name:    "merge",
		Group:   b.Combinators,
		Summary: "Brings the events of several streams together, in time order.",
		Params:  []b.Param{{Name: "stream", Type: b.Is("stream"), Rest: "*", Doc: "what to merge"}},
		Returns: "stream",
		Result:  "all events; fields are looked up in each event's own format",
		Errors:  "no stream is given",
		Source:  computed,
		Cost:    "10 to 40 ns per event where order matters, else nothing",
		Examples: []b.Example{
			{Code: `merge(tracepoint("sched:sched_wakeup"), tracepoint("sched:sched_switch"))`, Output: "<stream>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if len(c.Rest) == 0 {
				return nil, errors.New("merge: nothing to merge; write merge(a, b)")
			}
			pairs, spans := true, true
			m := &plan.Merge{}
			for _, v := range c.Rest {
				s := v.(*Stream)
				m.In = append(m.In, s.S)
				pairs, spans = pairs && s.Pairs, spans && s.spans()
			}
			return &Stream{S: m, Pairs: pairs, Spans: spans}, nil
		},
	}
}
