package pipeline

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

var errNoPairs = errors.New("the stream has no pairs; join two stages first")

func latency() *b.Builtin {
	return &b.Builtin{
		Name:    "latency",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Shows how long pairs take: the standard table of start => end.",
		Params: []b.Param{
			{Name: "key", Type: b.Expression, Rest: "*", Doc: "one row for each of these keys, in addition to the events"},
			{Name: "name", Type: b.Expression, Rest: "**", Doc: "the same, with a name for the column"},
			{Name: "perins", Type: b.Bool, Default: starlark.False, Named: true, Doc: "one row for each key of the join; where that is the thread, also its name"},
			{Name: "than", Type: b.Duration, Named: true, Doc: "also count pairs that take longer"},
			{Name: "lower", Type: b.Duration, Named: true, Doc: "also count pairs that take less"},
			{Name: "only_than", Type: b.Bool, Default: starlark.False, Named: true, Doc: "show the table only if some pair took longer than than"},
		},
		Returns: "table",
		Result:  "calls, total, min, p50, p95, p99, max in us; largest total first, with keys below their order",
		Errors:  "the stream is not one of pairs; only_than without than",
		Source:  computed,
		Cost:    "10 ns per pair",
		Examples: []b.Example{
			{Code: `join([tracepoint("irq:softirq_entry")], [tracepoint("irq:softirq_exit")]).latency()`,
				Output: "<table of start, end, calls, total, min, p50, p95, p99, max>"},
			{Code: `join([tracepoint("irq:irq_handler_entry")], [tracepoint("irq:irq_handler_exit")], key = "irq").latency(perins = True, than = 1 * ms)`,
				Output: "<table of irq, start, end, calls, total, min, p50, p95, p99, max, than>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !c.Receiver.(*Stream).spans() {
				return nil, errNoPairs
			}
			g := &plan.Group{In: in(c)}
			if c.Bool("perins") {
				key := instanceOf(g.In)
				g.By = append(g.By, key)
				if key.Fn.Text == plan.InstanceName && c.Host().Session.ByThread {
					g.By = append(g.By, plan.Var{Name: "comm", Fn: plan.Fn{Text: "start._comm"}})
				}
			}
			for i, v := range c.Rest {
				f, err := fnOf(c, v)
				if err != nil {
					return nil, err
				}
				g.By = append(g.By, plan.Var{Name: keyName(f, i), Fn: f})
			}
			named, err := vars(c, c.KW)
			if err != nil {
				return nil, err
			}
			g.By = append(g.By, named...)
			keys := len(g.By)
			g.By = append(g.By, plan.Var{
				Name: "start",
				Fn:   plan.Fn{Text: "start.event"},
			}, plan.Var{Name: "end", Fn: plan.Fn{Text: "end.event"}})
			g.Aggs = delays(true)
			g.View.Widths = map[string]view.Width{
				"start": {Min: 12, Right: true},
				"end":   {Min: 15, Left: true, Sep: " => "},
			}
			for _, p := range []struct{ name, op string }{{"than", ">"}, {"lower", "<"}} {
				if !c.Has(p.name) {
					continue
				}
				g.Aggs = append(g.Aggs, plan.AggCol{Name: p.name, Agg: agg.Agg{Op: agg.Count},
					Where: &plan.Fn{Text: fmt.Sprintf("delay %s %d", p.op, c.Duration(p.name))}})
				g.View.Widths[p.name] = view.Width{Min: 14, ShareOf: "calls", Alarm: true}
			}
			if c.Bool("only_than") {
				if !c.Has("than") {
					return nil, c.Error("only_than", errors.New("needs than"),
						"write .latency(than = 10 * ms, only_than = True)")
				}
				g.View.OnlyIf = "than"
			}
			for _, v := range g.By[:keys] {
				g.View.Steps = append(g.View.Steps, view.Step{Sort: v.Name})
			}
			g.View.Steps = append(g.View.Steps, view.Step{Sort: "total", Reverse: true})
			g.View.Units = map[string]unit.Unit{"": unit.US}
			return &results.Table{Group: g}, nil
		},
	}
}

// delays returns the standard columns about the delay of pairs.
func delays(quantiles bool) []plan.AggCol {
	delay := &plan.Fn{Text: "delay"}
	cols := []plan.AggCol{
		{Name: "calls", Agg: agg.Agg{Op: agg.Count}},
		{Name: "total", Agg: agg.Agg{Op: agg.Sum}, Arg: delay},
		{Name: "min", Agg: agg.Agg{Op: agg.Min}, Arg: delay},
	}
	if quantiles {
		for _, q := range []struct {
			name string
			q    float64
		}{{"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}} {
			cols = append(cols, plan.AggCol{Name: q.name, Agg: agg.Agg{Op: agg.Quantile, Q: q.q}, Arg: delay})
		}
	}
	return append(cols, plan.AggCol{Name: "max", Agg: agg.Agg{Op: agg.Max}, Arg: delay})
}

// instanceOf returns a column with the key of the join that makes the pairs of
// s, named as the key.
func instanceOf(s plan.Stream) plan.Var {
	for {
		switch n := s.(type) {
		case *plan.Join:
			switch {
			case n.Key == nil:
				if k := attrKey(n); k != "" {
					return plan.Var{Name: k, Fn: plan.Fn{Text: "key"}}
				}
				return plan.Var{Name: "CPU", Fn: plan.Fn{Text: plan.InstanceName}}
			case n.Key.Text != "":
				return plan.Var{Name: n.Key.Text, Fn: plan.Fn{Text: "key"}}
			}
			return plan.Var{Name: "key", Fn: plan.Fn{Text: "key"}}
		default:
			ins := s.Inputs()
			if len(ins) == 0 {
				return plan.Var{Name: "key", Fn: plan.Fn{Text: "key"}}
			}
			s = ins[0]
		}
	}
}

// attrKey returns the first key that a stream of a join sets for itself; "" if
// there is none.
func attrKey(s plan.Stream) string {
	switch n := s.(type) {
	case *plan.Source:
		if k := n.Attr("key"); len(k) > 0 {
			return k[0]
		}
	case *plan.Mark:
		if n.Key != nil && n.Key.Text != "" {
			return n.Key.Text
		}
		if n.Key != nil {
			return "key"
		}
	}
	for _, in := range s.Inputs() {
		if k := attrKey(in); k != "" {
			return k
		}
	}
	return ""
}

func unpaired() *b.Builtin {
	return &b.Builtin{
		Name:    "unpaired",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "The events that found no partner, with the reason and their age.",
		Params: []b.Param{
			{Name: "of", Type: b.OneOf("start", "end", "both"), Default: starlark.String("both"),
				Doc: "start: only events that can start a pair; end: only events that can end one"},
			{Name: "waiting", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also starts that still wait at the end of an interval, at each interval again"},
			{Name: "lost", Type: b.Bool, Default: starlark.False, Named: true, Doc: "only events whose partner may have been lost; none if the kernel makes the pairs"},
		},
		Returns: "stream",
		Result: "events with start (the event itself, also if it is an end), age (duration), key, and reason: replaced by a newer start of its key, " +
			"cancelled by an event that makes no pair with it, alone (an end without a start), lost (its end may be), evicted, waiting, exit (the run ended)",
		Errors: "the stream is not one of pairs",
		Source: "computed in ppscript, or in the kernel, which sends unpaired events, and whose waiting starts are read at the end. " +
			"Programs can miss events in interrupts, so the kernel does this only for events that do not occur there, or with --engine bpf; " +
			"an event that they miss breaks the starts that wait. If a table in the kernel is full, the newest start is evicted",
		Cost: "50 ns per such event; starts are kept whole",
		Examples: []b.Example{{
			Code:   `join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid").unpaired().by("reason").count()`,
			Output: "<table of reason, count>"}, {
			Code: `m = join([tracepoint("kmem:kmalloc")], [tracepoint("kmem:kfree")], key = "ptr")` + "\n" +
				`m.unpaired("start").where("reason == \"exit\"").by("start.call_site").agg(bytes = agg.sum("start.bytes_alloc"))`,
			Output: "<table of start.call_site, bytes>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !c.Receiver.(*Stream).Pairs {
				return nil, errNoPairs
			}
			of := c.String("of")
			return &Stream{S: &plan.Unpaired{
				Of:      in(c),
				Starts:  of == "start",
				Ends:    of == "end",
				Waiting: c.Bool("waiting"),
				Lost:    c.Bool("lost"),
			}}, nil
		},
	}
}

func paired() *b.Builtin {
	return &b.Builtin{
		Name:    "paired",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Counts pairs and unpaired events; a leak shows as events that wait.",
		Returns: "table",
		Result:  "the number of pairs for each start and end; for each event the number that stayed unpaired in this interval, by reason, or that wait now",
		Errors:  "the stream is not one of pairs",
		Source:  computed,
		Cost:    "10 ns per pair; starts are kept whole",
		Examples: []b.Example{{
			Code:   `join([tracepoint("irq:softirq_entry")], [tracepoint("irq:softirq_exit")]).paired()`,
			Output: "<table of start, end, state, count>",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !c.Receiver.(*Stream).Pairs {
				return nil, errNoPairs
			}
			s := in(c)
			g := &plan.Group{In: &plan.Merge{In: []plan.Stream{s, &plan.Unpaired{Of: s, Waiting: true}}},
				By: []plan.Var{
					{Name: "start", Fn: plan.Fn{Text: "start.event"}},
					{Name: "end", Fn: plan.Fn{Text: "end.event"}},
					{Name: "state", Fn: plan.Fn{Text: "reason"}},
				},
				Aggs: []plan.AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
			g.View.Steps = []view.Step{{Sort: "start"}, {Sort: "end"}, {Sort: "state"}}
			return &results.Table{Group: g}, nil
		},
	}
}

func calls() *b.Builtin {
	return &b.Builtin{
		Name:    "calls",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Shows which functions call which, and how long they take: a tree of nested pairs.",
		Params: []b.Param{
			{Name: "times", Type: b.Bool, Default: starlark.True, Named: true, Doc: "calls, total, min, p50, p95, p99, max in us; else only the names"},
			{Name: "self", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also the time without the calls inside"},
		},
		Returns: "table",
		Result: "a row for each path: the same function under two callers is two rows. R marks functions that were entered again before they returned; " +
			"those calls are counted where the function was entered first",
		Errors: "the pairs are not those of one join with impl = \"nested\"",
		Source: computed,
		Cost:   "10 ns per call",
		Examples: []b.Example{{
			Code: `join([tracepoint("irq:softirq_entry"), tracepoint("irq:softirq_exit")], ` +
				`[tracepoint("timer:timer_expire_entry"), tracepoint("timer:timer_expire_exit")], impl = "nested").calls()`,
			Output: "<table of function call, R, calls, total, min, p50, p95, p99, max>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if !c.Receiver.(*Stream).Pairs {
				return nil, errNoPairs
			}
			g := &plan.Group{
				In:   in(c),
				Tree: true,
				By:   []plan.Var{{Name: "function call", Fn: plan.Fn{Text: "node"}}},
				Aggs: []plan.AggCol{{Name: "R", Agg: agg.Agg{Op: agg.Count}}},
			}
			g.Aggs = append(g.Aggs, delays(true)...)
			g.View.Widths = map[string]view.Width{
				"function call": {Min: 13, Left: true},
				"R":             {Min: 1, Left: true},
			}
			if c.Bool("self") {
				g.Aggs = append(g.Aggs, plan.AggCol{
					Name: "self",
					Agg:  agg.Agg{Op: agg.Sum},
					Arg:  &plan.Fn{Text: "self"},
				})
			}
			if !c.Bool("times") {
				g.View.Hidden = map[string]bool{}
				for _, a := range g.Aggs[1:] {
					g.View.Hidden[a.Name] = true
				}
			}
			g.View.Units = map[string]unit.Unit{"": unit.US}
			return &results.Table{Group: g}, nil
		},
	}
}
