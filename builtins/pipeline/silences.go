package pipeline

import (
	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

func silences() *b.Builtin {
	return &b.Builtin{
		Name:    "silences",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Lists silences: long times without an event of a thread, a device, a connection or another key.",
		Params: []b.Param{
			{Name: "key", Type: keys, Required: true, Doc: "the key: a field, an expression over the event, or a list of these"},
			{Name: "than", Type: b.Duration, Named: true, Required: true, Doc: "longer times without an event are silences"},
			{Name: "top", Type: b.Int, Default: starlark.MakeInt(0), Named: true, Doc: "rows of each interval; 0 shows all"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many keys are followed; else a million"},
		},
		Returns: "log",
		Result: "a table at each interval, the longest first: the key; since, the time of the last event before; silent, how long; " +
			"ended: yes, with an event in the interval, or no, at the end of the run (of a recording, its last event that the script reads). Silences that a loss of events may explain are " +
			"left out and counted as broken. At the limit, the keys that were silent for longest are evicted. Of more than 262,144 silences in an interval the shorter ones are evicted",
		Errors: runtimeE + "; than or top is less than 0, limit less than 1",
		Source: computed + "; events need no order, so that on large machines several threads share the work",
		Cost:   "25 ns per event; 100 bytes for each key",
		Examples: []b.Example{
			{Code: `tracepoint("block:block_rq_complete").silences("dev", than = 1 * s)`, Output: "<log>"},
			{Code: sw + `s.silences("next_comm", than = 100 * ms, top = 10)`, Output: "<log>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := fnOf(c, c.Value("key"))
			if err != nil {
				return nil, err
			}
			than := c.Duration("than")
			if than < 0 {
				return nil, c.Errorf("than", "got %s, want 0 or more", unit.Duration(than))
			}
			top, limit := c.Int("top"), c.Int("limit")
			switch {
			case top < 0:
				return nil, c.Errorf("top", "got %d, want 0 or more", top)
			case c.Has("limit") && limit < 1:
				return nil, c.Errorf("limit", "got %d, want 1 or more", limit)
			}
			return &results.Log{Report: &plan.Silences{
				In:    in(c),
				Key:   plan.Var{Name: keyName(f, 0), Fn: f},
				Than:  than,
				Top:   int(top),
				Limit: int(limit),
			}}, nil
		},
	}
}
