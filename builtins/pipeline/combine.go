package pipeline

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/unit"

	"go.starlark.net/starlark"
)

func merge() *b.Builtin {
	return &b.Builtin{
		Name: "merge", Group: b.Combinators, Summary: "Brings the events of several streams together, in time order.",
		Params:  []b.Param{{Name: "stream", Type: b.Is("stream"), Rest: "*", Doc: "what to merge"}},
		Returns: "stream", Result: "all events; fields are looked up in each event's own format", Errors: "no stream is given",
		Source: computed, Cost: "10 to 40 ns per event where order matters, else nothing",
		Examples: []b.Example{{Code: `merge(tracepoint("sched:sched_wakeup"), tracepoint("sched:sched_switch"))`, Output: "<stream>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if len(c.Rest) == 0 {
				return nil, errors.New("merge: nothing to merge; write merge(a, b)")
			}
			pairs := true
			m := &plan.Merge{}
			for _, v := range c.Rest {
				s := v.(*Stream)
				m.In = append(m.In, s.S)
				pairs = pairs && s.Pairs
			}
			return &Stream{S: m, Pairs: pairs}, nil
		},
	}
}

func joinStages() *b.Builtin {
	stage := b.Or(b.Is("stream"), b.ListOf(b.Is("stream")))
	return &b.Builtin{
		Name: "join", Group: b.Combinators, Summary: "Relates each event to the one that follows it: starts and ends, stage by stage.",
		Params: []b.Param{
			{Name: "stage", Type: stage, Rest: "*", Doc: "streams of the first stage, of the second, ..."},
			{Name: "key", Type: b.Expression, Named: true, Doc: "what start and end have in common; else the thread or CPU that is observed"},
			{Name: "cycle", Type: b.Bool, Default: starlark.False, Named: true, Doc: "the last stage also precedes the first"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many starts may wait; else a million"},
		},
		Returns: "stream of pairs",
		Result: "pairs with start, end, delay (duration) and key; an end takes the newest start of its key; " +
			"starts and ends that find none are counted as unmatched, and after a loss nothing that waited is used",
		Errors: "fewer than two stages; keys of different kinds", Source: computed,
		Cost: "20 to 40 ns per event; 200 bytes and the record for each start that waits",
		Examples: []b.Example{{
			Code:   `join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid")`,
			Output: "<stream of pairs>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			j := &plan.Join{Cycle: c.Bool("cycle"), Limit: int(c.Int("limit"))}
			for i, v := range c.Rest {
				m := &plan.Merge{}
				switch v := v.(type) {
				case *Stream:
					m.In = append(m.In, v.S)
				case starlark.Tuple:
					for _, s := range v {
						m.In = append(m.In, s.(*Stream).S)
					}
				}
				if len(m.In) == 0 {
					return nil, fmt.Errorf("join: stage %d is empty", i+1)
				}
				j.Stages = append(j.Stages, m)
			}
			if len(j.Stages) < 2 && !j.Cycle {
				return nil, fmt.Errorf("join: got %d stages, want at least two: join([start], [end], key = ...)", len(j.Stages))
			}
			var err error
			j.Key, err = arg(c, "key")
			return &Stream{S: j, Pairs: true}, err
		},
	}
}

func latency() *b.Builtin {
	return &b.Builtin{
		Name: "latency", Type: "stream", Group: b.PairMethods, Summary: "Tells how long pairs take: the standard table of start => end.",
		Params: []b.Param{
			{Name: "key", Type: b.Expression, Rest: "*", Doc: "one row for each key in addition"},
			{Name: "than", Type: b.Duration, Named: true, Doc: "also count pairs that take longer"},
		},
		Returns: "table", Result: "calls, total, min, p50, p95, p99, max in us", Errors: "the stream is not one of pairs",
		Source: computed, Cost: "10 ns per pair",
		Examples: []b.Example{{
			Code:   `join([tracepoint("irq:softirq_entry")], [tracepoint("irq:softirq_exit")], key = "cpu").latency()`,
			Output: "<table of start, end, calls, total, min, p50, p95, p99, max>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !c.Receiver.(*Stream).Pairs {
				return nil, errors.New("latency: the stream has no pairs; join two stages first")
			}
			g := &plan.Group{In: in(c)}
			for i, v := range c.Rest {
				f, err := FnOf(c, v)
				if err != nil {
					return nil, err
				}
				g.By = append(g.By, plan.Var{Name: keyName(f, i), Fn: f})
			}
			g.By = append(g.By, plan.Var{Name: "start", Fn: plan.Fn{Text: "start.event"}}, plan.Var{Name: "end", Fn: plan.Fn{Text: "end.event"}})
			delay := &plan.Fn{Text: "delay"}
			for _, a := range []plan.AggCol{{Name: "calls", Op: "count"}, {Name: "total", Op: "sum"}, {Name: "min", Op: "min"},
				{Name: "p50", Op: "quantile", Q: 0.50}, {Name: "p95", Op: "quantile", Q: 0.95}, {Name: "p99", Op: "quantile", Q: 0.99},
				{Name: "max", Op: "max"}} {
				if a.Op != "count" {
					a.Arg = delay
				}
				g.Aggs = append(g.Aggs, a)
			}
			g.View.Widths = map[string]plan.Width{"start": {Min: 12, Right: true}, "end": {Min: 15, Left: true, Sep: " => "}}
			if c.Has("than") {
				g.Aggs = append(g.Aggs, plan.AggCol{Name: "than", Op: "count",
					Where: &plan.Fn{Text: fmt.Sprintf("delay > %d", c.Duration("than"))}})
				g.View.Widths["than"] = plan.Width{Min: 14, ShareOf: "calls", Alarm: true}
			}
			g.View.Steps = []plan.Step{{Sort: "total", Reverse: true}}
			g.View.Units = map[string]unit.Unit{"": unit.US}
			return &results.Table{Group: g}, nil
		},
	}
}
