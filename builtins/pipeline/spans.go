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

// openat is code for examples, which defines a stream of spans.
const openat = `sys = "syscalls:sys_"` + "\n" +
	`begin, end = tracepoint(sys + "enter_openat"), tracepoint(sys + "exit_openat")` + "\n" +
	`openat = spans(begin, end, name = "openat")` + "\n"

// offCPU is code for examples, which defines spans that overlap the spans of
// openat.
const offCPU = `switch = tracepoint("sched:sched_switch")` + "\n" +
	`off = spans(switch.key("prev_pid"), switch.key("next_pid"), name = "off")` + "\n"

func spans() *b.Builtin {
	stage := b.Or(b.Is("stream"), b.ListOf(b.Is("stream")))
	return &b.Builtin{
		Name:    "spans",
		Group:   b.Combinators,
		Summary: "Makes spans of time from the events that begin and end them.",
		Params: []b.Param{
			{Name: "begin", Type: stage, Required: true, Doc: "the events that begin a span"},
			{Name: "end", Type: stage, Required: true, Doc: "the events that end it"},
			{Name: "key", Type: keys, Named: true, Doc: "the value that begin and end share, or a list of values; by default the thread. .key(...) of an event comes first"},
			{Name: "name", Type: b.String, Named: true, Doc: "name of the spans; by default begin => end"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many begins may wait, as for join"},
		},
		Returns: "stream of pairs",
		Result: "pairs, as of join: start and end are the events, begin is when the span began, time when it ended, delay (duration) how long it took, and key. " +
			"Pairs of every join are spans, and so are events of a fold with a field begin. All of them can be split (during), grouped, shown and measured as pairs",
		Errors: "no event; keys of different kinds",
		Source: "as of join",
		Cost:   "as of join",
		Examples: []b.Example{
			{Code: openat + `openat.latency()`, Output: "<table of start, end, calls, total, min, p50, p95, p99, max>"},
			{Code: offCPU + `off.hist("delay")`, Output: "<table of delay>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			j := &plan.Join{Key: &plan.Fn{Text: "_tid"}, Limit: int(c.Int("limit"))}
			if c.Has("limit") && j.Limit < 1 {
				return nil, c.Errorf("limit", "got %d, want at least 1", j.Limit)
			}
			for _, name := range []string{"begin", "end"} {
				m := stageOf(c.Value(name))
				if len(m.In) == 0 {
					return nil, c.Error(name, errors.New("is empty"), "give the events: spans(begin, end)")
				}
				j.Stages = append(j.Stages, m)
			}
			if c.Has("name") {
				j.Label = func(string, string) string { return c.String("name") }
			}
			if c.Has("key") {
				key, err := arg(c, "key")
				if err != nil {
					return nil, err
				}
				j.Key = key
			}
			return &Stream{S: j, Pairs: true}, nil
		},
	}
}

func during() *b.Builtin {
	return &b.Builtin{
		Name:    "during",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Splits spans by other spans that overlap them, to show where their time went.",
		Params: []b.Param{
			{Name: "over", Type: b.Is("stream"), Required: true, Doc: "the overlapping spans; merge(...) brings several kinds together"},
			{Name: "key", Type: b.Or(b.Expression, b.ListOf(b.Expression)), Named: true,
				Doc: "the value that both share, or a list of two: for the spans, and for the overlapping ones. By default the thread: the join's key if that is a thread, otherwise the thread of the span's end. \"key\" is the key of the join"},
			{Name: "by", Type: b.Or(b.Expression, b.ListOf(b.Expression)), Named: true, Doc: "makes a table of the parts: a row for each part, or for other fields of parts"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many overlapping spans are kept; by default 262,144"},
		},
		Returns: "stream of parts, or a table",
		Result: "parts, which sum to their span to the nanosecond, at the end of the span. A part has the fields of the span, its own begin and delay (duration), part (the name of the overlapping span), and the fields that this span has by let, or from a fold. Of several overlapping spans the one that began last counts. A span that has not ended counts up to the end, with the fields of its begin. Time without an overlapping span is rest. Time that cannot be assigned is unknown: after a loss of events, until the next event; beyond limit=; and before the end of a span that began before the run. " +
			"With by=: rows with total, count, min, mean and max of the parts, and their share of the total, largest first",
		Errors: "a stream without spans; keys of different kinds, or that are not known at the begin of a span; a name that both spans have. " +
			"Events of a fold without begin count as unmatched, spans beyond limit= as evicted",
		Source: "computed in ppscript; any kernel; no privilege. Spans are not related in the kernel then, because spans that have not ended are needed. " +
			"An overlapping span that began before the run, and ends after the split span, is not seen",
		Cost: "50 ns for each begin and end, 150 ns and more for each part; 60 bytes for each overlapping span, while a span of its key is open",
		Examples: []b.Example{
			{Code: openat + offCPU + `openat.during(off, by = "part")`, Output: "<table of part, total, count, min, mean, max>"},
			{Code: openat + offCPU + `openat.during(off).where("part == \"off\"").hist("delay")`, Output: "<table of delay>"},
			{Code: openat + `entry, exit = tracepoint("irq:irq_handler_entry"), tracepoint("irq:irq_handler_exit")` + "\n" +
				`irq = spans(entry, exit, key = "_cpu", name = "irq").let(line = "start.irq")` + "\n" +
				`openat.during(irq, key = "_cpu", by = ["part", "line"])`,
				Output: "<table of part, line, total, count, min, mean, max>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			over := c.Value("over").(*Stream)
			if !c.Receiver.(*Stream).spans() || !over.spans() {
				return nil, c.Error("over", errors.New("both streams must have spans"),
					`take pairs, spans(begin, end), or a fold with begin = "since"`)
			}
			d := &plan.During{In: in(c), Of: over.S, Limit: int(c.Int("limit"))}
			if c.Has("limit") && d.Limit < 1 {
				return nil, c.Errorf("limit", "got %d, want at least 1", d.Limit)
			}
			keys, err := fnsOf(c, "key")
			switch {
			case err != nil:
				return nil, err
			case len(keys) > 2:
				return nil, c.Errorf("key", "got %d keys, want one, or one for each side", len(keys))
			case len(keys) > 0:
				d.Keys = [2]*plan.Fn{&keys[0], &keys[len(keys)-1]}
			}
			by, err := fnsOf(c, "by")
			if err != nil || len(by) == 0 {
				return &Stream{S: d, Spans: true}, err
			}
			return &results.Table{Group: partTable(d, by)}, nil
		},
	}
}

// fnsOf returns the per-event functions of a parameter that is an expression or
// a list of expressions.
func fnsOf(c *b.Call, name string) ([]plan.Fn, error) {
	if !c.Has(name) {
		return nil, nil
	}
	list := starlark.Tuple{c.Value(name)}
	if t, ok := list[0].(starlark.Tuple); ok {
		list = t
	}
	var fns []plan.Fn
	for _, v := range list {
		f, err := fnOf(c, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fns = append(fns, f)
	}
	return fns, nil
}

// partTable makes the standard table of parts, with a row for each value of by.
func partTable(d *plan.During, by []plan.Fn) *plan.Group {
	g := &plan.Group{In: d}
	for i, f := range by {
		g.By = append(g.By, plan.Var{Name: keyName(f, i), Fn: f})
	}
	delay := &plan.Fn{Text: "delay"}
	g.Aggs = []plan.AggCol{
		{Name: "total", Agg: agg.Agg{Op: agg.Sum}, Arg: delay},
		{Name: "count", Agg: agg.Agg{Op: agg.Count}},
		{Name: "min", Agg: agg.Agg{Op: agg.Min}, Arg: delay},
		{Name: "mean", Agg: agg.Agg{Op: agg.Avg}, Arg: delay},
		{Name: "max", Agg: agg.Agg{Op: agg.Max}, Arg: delay},
	}
	g.View.Units = map[string]unit.Unit{"total": unit.US, "min": unit.US, "mean": unit.US, "max": unit.US}
	g.View.Steps = []view.Step{
		{With: "share", Share: "total", Unit: unit.Percent},
		{Sort: "total", Reverse: true},
	}
	return g
}
