package pipeline

import (
	"errors"
	"fmt"
	"strings"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

const (
	computed = "computed in ppscript; any kernel; no privilege"
	perEvent = "a few ns per event for fields and C expressions; about 100 ns for a function that stays interpreted"
	runtimeE = "a field does not exist (found before anything is opened); an evaluation that fails drops the event and is counted"
)

// sw is code for examples, which defines the stream s.
const sw = `s = tracepoint("sched:sched_switch")` + "\n"

// Builtins declares all builtins of the package.
func Builtins() []*b.Builtin {
	list := []*b.Builtin{
		where(), let(), by(), aggregate(), count(), hist(), logLines(), rows(), each(), heatmap(), attr(),
		merge(), joinStages(), spans(), keyOf(), role(), untraced(), trigger(),
		latency(), slow(), during(), detailOf(), whyPairs(), whyThread(), unpaired(), paired(), calls(),
		fold(), at(), silences(), emit(), batches(), sqlQuery(),
	}
	list = append(list, schedBuiltins()...)
	list = append(list, sourceAttributes()...)
	list = append(list, stackBuiltins()...)
	return append(list, aggregators()...)
}

func where() *b.Builtin {
	return &b.Builtin{
		Name:    "where",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Keeps the events for which a condition holds.",
		Params: []b.Param{
			{Name: "condition", Type: b.Expression, Required: true, Doc: "what must be true, or not zero, or not empty"},
		},
		Returns: "stream",
		Result:  "the events that pass; conditions that the kernel's filter can express are checked there",
		Errors:  runtimeE,
		Source:  "tracepoint filter of the kernel, else ppscript; any kernel",
		Cost:    perEvent + "; nothing for what the kernel rejects",
		Examples: []b.Example{
			{Code: sw + `s.where("prev_pid > 0 && prev_state == 0")`, Output: "<stream>"},
			{Code: sw + `s.where(lambda e: e.prev_comm == "bash")`, Output: "<stream>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := arg(c, "condition")
			if err != nil {
				return nil, err
			}
			return with(c, &plan.Where{In: in(c), Pred: *f}), nil
		},
	}
}

func let() *b.Builtin {
	return &b.Builtin{
		Name:    "let",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Gives names to computed values, which all methods that follow can use.",
		Params: []b.Param{{
			Name: "name",
			Type: b.Or(b.Expression, b.Bool, b.Int, b.Duration, b.Size),
			Rest: "**",
			Doc:  "name = expression over the event, or a constant: a number, duration, size or bool. A text is an expression",
		}},
		Returns: "stream",
		Result:  "the events; the names are usable like fields, and hide fields of the same name",
		Errors:  runtimeE,
		Source:  computed,
		Cost:    "that of the expression wherever the name is used",
		Examples: []b.Example{
			{Code: sw + `s.let(slept = "prev_state & 3").where("slept")`, Output: "<stream>"},
			{Code: `merge(tracepoint("sched:sched_wakeup").let(began = True), tracepoint("sched:sched_switch").let(began = False))`, Output: "<stream>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			vars, err := vars(c, c.KW)
			if err != nil {
				return nil, err
			}
			return with(c, &plan.Let{In: in(c), Vars: vars}), nil
		},
	}
}

func vars(c *b.Call, kw []starlark.Tuple) ([]plan.Var, error) {
	var vs []plan.Var
	for _, kv := range kw {
		f, err := constantOf(c, kv[1])
		if f.Const == nil && err == nil {
			f, err = fnOf(c, kv[1])
		}
		if err != nil {
			return nil, err
		}
		vs = append(vs, plan.Var{Name: string(kv[0].(starlark.String)), Fn: f})
	}
	return vs, nil
}

func by() *b.Builtin {
	return &b.Builtin{
		Name:    "by",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Chooses the keys that the events are grouped by.",
		Params:  expressionsOf("key"),
		Returns: "groups",
		Result:  "groups, for .agg(...), .count() or .hist(...)",
		Errors:  runtimeE,
		Source:  computed,
		Cost: perEvent +
			"; 60 to 200 bytes for each key; at most a million keys (--max-rows), further ones are counted as evicted, and are in one row, __other__, so that totals stay right",
		Examples: []b.Example{
			{Code: sw + `s.by("prev_comm", cpu = "cpu").count()`, Output: "<table of prev_comm, cpu, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			by, err := varsOf(c)
			return &groups{in: in(c), by: by}, err
		},
	}
}

// expressionsOf returns the parameters of a method that takes any number of keys or columns. varsOf
// reads them.
func expressionsOf(what string) []b.Param {
	return []b.Param{
		{Name: what, Type: b.Expression, Rest: "*", Doc: "fields or expressions; a " + what + " is named by its text"},
		{Name: "name", Type: b.Expression, Rest: "**", Doc: "name of the " + what + " = expression"},
	}
}

// varsOf returns the expressions in the arguments of a call, in order: first the unnamed
// ones, then the named ones.
func varsOf(c *b.Call) (list []plan.Var, err error) {
	for i, v := range c.Rest {
		f, err := fnOf(c, v)
		if err != nil {
			return nil, err
		}
		list = append(list, plan.Var{Name: keyName(f, i), Fn: f})
	}
	named, err := vars(c, c.KW)
	return append(list, named...), err
}

func keyName(f plan.Fn, i int) string {
	if f.Text != "" {
		return f.Text
	}
	if n := f.Call.Name(); n != "lambda" {
		return n
	}
	return fmt.Sprintf("key%d", i+1)
}

func aggregate() *b.Builtin {
	return &b.Builtin{
		Name:    "agg",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Aggregates the events, or each group of them, into a table.",
		Params: []b.Param{
			{Name: "column", Type: b.Is("aggregator"), Rest: "**", Doc: "name of the column = agg.count(), agg.sum(...), ..."},
		},
		Returns: "table",
		Result:  "one row for each key in order of appearance; a new table at each interval",
		Errors:  runtimeE,
		Source:  computed,
		Cost:    "2 to 10 ns per event and column",
		Examples: []b.Example{
			{Code: sw + `s.by("prev_comm").agg(n = agg.count(), last = agg.max("time"))`, Output: "<table of prev_comm, n, last>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) { return tableOf(c, c.Receiver.(*Stream).S, nil) },
	}
}

// tableOf makes a table whose columns are the aggregators in the call's keyword
// arguments.
func tableOf(c *b.Call, s plan.Stream, by []plan.Var) (starlark.Value, error) {
	if len(c.KW) == 0 {
		return nil, c.Error("column", errors.New("missing"),
			`write .agg(calls = agg.count(), total = agg.sum("delay"))`)
	}
	g := &plan.Group{In: s, By: by}
	for _, kv := range c.KW {
		col := kv[1].(*aggregator).col
		col.Name = string(kv[0].(starlark.String))
		for _, v := range by {
			if v.Name == col.Name {
				return nil, c.Error("column", fmt.Errorf("%s is a key already", col.Name),
					"choose another name")
			}
		}
		g.Aggs = append(g.Aggs, col)
	}
	return &results.Table{Group: g}, nil
}

func count() *b.Builtin {
	return &b.Builtin{
		Name:    "count",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Counts the events, or those of each group.",
		Returns: "table",
		Result:  "a column count; largest first if there are keys",
		Errors:  "none",
		Source:  computed,
		Cost:    "under 10 ns per event",
		Examples: []b.Example{
			{Code: sw + `s.by("prev_comm").count()`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) { return countOf(in(c), nil), nil },
	}
}

func countOf(s plan.Stream, by []plan.Var) starlark.Value {
	g := &plan.Group{In: s, By: by, Aggs: []plan.AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
	if len(by) > 0 {
		g.View.Steps = []view.Step{{Sort: "count", Reverse: true}}
	}
	return &results.Table{Group: g}
}

func hist() *b.Builtin {
	return &b.Builtin{
		Name:    "hist",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Counts a number into power-of-two or equal buckets.",
		Params:  histParams(),
		Returns: "histogram",
		Result:  "buckets [2^n, 2^(n+1)), or of step; counts are events",
		Errors:  runtimeE + "; step without low and high, or one of these without step",
		Source:  computed,
		Cost:    "3 ns per event; 65 counters for each key",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_stat_runtime").hist("runtime")`, Output: "<table of runtime>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) { return histOf(c, in(c), nil) },
	}
}

func histParams() []b.Param {
	return []b.Param{
		{Name: "value", Type: b.Expression, Required: true, Doc: "what to count: a number of the event"},
		{Name: "low", Type: b.Or(b.Int, b.Duration, b.Size), Named: true, Doc: "lower end of equal buckets"},
		{Name: "high", Type: b.Or(b.Int, b.Duration, b.Size), Named: true, Doc: "upper end of equal buckets"},
		{Name: "step", Type: b.Or(b.Int, b.Duration, b.Size), Named: true, Doc: "width of equal buckets; none: powers of two"},
	}
}

func histOf(c *b.Call, s plan.Stream, by []plan.Var) (starlark.Value, error) {
	f, err := arg(c, "value")
	if err != nil {
		return nil, err
	}
	name := "value"
	if f.Text != "" {
		name = f.Text
	}
	col := plan.AggCol{Name: name, Agg: agg.Agg{Op: agg.Hist}, Arg: f, Pos: c.Pos()}
	if c.Has("step") {
		a := &col.Agg
		*a = agg.Agg{
			Op:   agg.LHist,
			Lo:   base(c.Value("low")),
			Hi:   base(c.Value("high")),
			Step: base(c.Value("step")),
		}
		switch {
		case a.Step < 1:
			return nil, c.Errorf("step", "got %v, want more than 0", c.Value("step"))
		case a.Hi <= a.Lo:
			return nil, c.Error("high", fmt.Errorf("got %v, want more than low", c.Value("high")),
				"write low = 0, high = 100, step = 10")
		case (uint64(a.Hi)-uint64(a.Lo))/uint64(a.Step) > 1000:
			return nil, c.Errorf("step", "makes more than 1000 buckets")
		}
	} else if c.Has("low") || c.Has("high") {
		return nil, c.Error("step", errors.New("got none, want one with low and high"),
			"write low = 0, high = 100, step = 10")
	}
	return &results.Table{Group: &plan.Group{In: s, By: by, Aggs: []plan.AggCol{col}}}, nil
}

func logLines() *b.Builtin {
	return &b.Builtin{
		Name:    "log",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Shows every event as a line, in time order.",
		Params: []b.Param{
			{Name: "newest", Type: b.Bool, Default: starlark.False, Named: true,
				Doc: "let full rings drop the oldest events, and show what is left at the end"},
			{Name: "registers", Type: b.Bool, Named: true, Doc: "show the registers of breakpoints and faults below their lines; by default those of breakpoints"},
			{Name: "result", Type: b.Expression, Named: true, Doc: "also show the value of this expression, at the end of each line"},
			{Name: "fields", Type: b.Dict, Named: true, Doc: "what to show in place of the event's fields: {name: expression}"},
			{Name: "heading", Type: b.Expression, Named: true, Doc: "with fields: text in their place, above the two events that began and ended a fold's state (begin = ...)"},
			{Name: "text", Type: b.Expression, Named: true, Doc: "with fields: text in their place, after the event's name; further lines of the text come below, before the stack"},
			{Name: "line", Type: b.ListOf(b.String), Named: true, Doc: "fields of each line, in perf script's form: comm, tid, time, event, ip, sym, ...; sw:ip for one type of event, +addr and -cpu change the default; [] is the default"},
			{Name: "nanos", Type: b.Bool, Default: starlark.False, Named: true, Doc: "with line: times to the nanosecond"},
		},
		Returns: "log",
		Result:  "date, comm, tid, flags, cpu, time, event and its fields as the kernel prints them; for a pair both events; below it the stack, if the stream takes stacks",
		Errors:  "an expression of fields cannot be computed",
		Source:  "the print fmt of the tracepoint",
		Cost:    "about 200 ns per event shown",
		Examples: []b.Example{
			{Code: sw + `s.log()`, Output: "<log>"},
			{Code: sw + `s.log(fields = {"from": "prev_comm", "to": "next_comm"})`, Output: "<log>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			result, err := arg(c, "result")
			if err != nil {
				return nil, err
			}
			fields, err := named(c, "fields")
			if err != nil {
				return nil, err
			}
			heading, err := arg(c, "heading")
			if err != nil {
				return nil, err
			}
			text, err := arg(c, "text")
			if err != nil {
				return nil, err
			}
			if text != nil && (len(fields) == 0 || heading != nil) {
				return nil, c.Error("text", errors.New("goes with fields, and without heading"),
					`write .log(fields = {"task": "task"}, text = lambda e: "task %d" % e.task)`)
			}
			if heading != nil && len(fields) == 0 {
				return nil, c.Error("heading", errors.New("JSON and CSV need fields"),
					`write .log(fields = {"task": "task"}, heading = lambda e: "task %d" % e.task)`)
			}
			layout, err := lineOf(c)
			if err != nil {
				return nil, err
			}
			return &results.Log{Report: &plan.Log{
				In:          in(c),
				Line:        layout,
				Heading:     heading,
				Text:        text,
				Pairs:       c.Receiver.(*Stream).Pairs,
				Newest:      c.Bool("newest"),
				Result:      result,
				NoRegisters: c.Has("registers") && !c.Bool("registers"),
				Registers:   c.Bool("registers"),
				Fields:      fields,
			}}, nil
		},
	}
}

// lineOf returns the layout from the argument "line" of log, or nil if it is not given.
func lineOf(c *b.Call) (*result.LineLayout, error) {
	if !c.Has("line") {
		return nil, nil
	}
	if c.Has("fields") {
		return nil, c.Error("line", errors.New("goes without fields"), "leave one of them out")
	}
	l, err := result.ParseLine(c.Strings("line"))
	if err != nil {
		return nil, err
	}
	l.Nanos = c.Bool("nanos")
	return l, nil
}

func rows() *b.Builtin {
	return &b.Builtin{
		Name:    "rows",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Shows every event as a row below one header, at once.",
		Params:  expressionsOf("column"),
		Returns: "table",
		Result: "a table that grows by a row for each event, in time order. Its columns are as wide as format says, except the last one; headers are in upper case, " +
			"as those of execsnoop. unit, text, format, hide, last and raw change its look; sort, top and others are errors, because they need all rows. " +
			"JSON has events, as for log",
		Errors: "an expression of a column cannot be computed",
		Source: computed,
		Cost:   "about a microsecond per event shown",
		Examples: []b.Example{
			{Code: sw + `s.rows("prev_comm", to = "next_comm").format("to", width = 16)`, Output: "<table of prev_comm, to>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			columns, err := varsOf(c)
			if err != nil {
				return nil, err
			}
			if len(columns) == 0 {
				return nil, c.Error("column", errors.New("missing"), `write .rows("comm", file = "filename")`)
			}
			v := &view.View{}
			v.Layout.NoRule, v.Layout.Upper = true, true
			return &results.Table{Rows: &plan.Log{In: in(c), Fields: columns, View: v}}, nil
		},
	}
}

func each() *b.Builtin {
	return &b.Builtin{
		Name:    "each",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Calls a function of the script for every event, in time order.",
		Params: []b.Param{
			{Name: "fn", Type: b.Func, Required: true, Doc: "function of the event; the event is valid during the call only"},
		},
		Returns:  "log",
		Result:   "what the function prints or keeps in a state()",
		Errors:   "the function fails: the run ends",
		Source:   computed,
		Cost:     "about 100 ns per event and line of the function: interpreted",
		Examples: []b.Example{{Code: sw + `s.each(lambda e: print(e.prev_comm))`, Output: "<log>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := frontend.NewFunc(c.Host(), c.Func("fn"))
			if err != nil {
				return nil, err
			}
			return &results.Log{Report: &plan.Each{In: in(c), Fn: f}}, nil
		},
	}
}

func heatmap() *b.Builtin {
	return &b.Builtin{
		Name:    "heatmap",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Draws heat maps of a number of every event over time.",
		Params: []b.Param{
			{Name: "prefix", Type: b.String, Required: true, Doc: "the pictures are PREFIX-EVENT.svg, for pairs PREFIX-START-END.svg"},
			{Name: "value", Type: b.Expression, Default: starlark.String("delay"), Doc: "the number"},
			{Name: "by", Type: keys, Named: true, Doc: "a picture for each value of a field or an expression, or of a list of these: PREFIX-EVENT-VALUE.svg; 64 at most; the other values share one picture"},
		},
		Returns: "log",
		Result: "a picture of how often each range of values occurred in each slot of time, with one row for negative values; " +
			"and a .lat file for other tools: a line \"TIME NUMBER\" for each event, both in ns for delays; an existing file is kept as .old",
		Errors: "a file cannot be written; a prefix that the command line does not name, without --allow write=DIR; the number does not exist",
		Source: computed,
		Cost:   "80 ns per event",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_stat_runtime").heatmap("/tmp/run", "runtime")`, Output: "<log>"},
			{Code: `tracepoint("sched:sched_stat_runtime").heatmap("/tmp/run", "runtime", by = "comm")`, Output: "<log>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := fnOf(c, c.Value("value"))
			if err != nil {
				return nil, err
			}
			h := &plan.Heat{In: in(c), Value: f, Prefix: c.String("prefix")}
			if c.Has("by") {
				if h.By, err = fnOf(c, c.Value("by")); err != nil {
					return nil, err
				}
			}
			return &results.Log{Report: h}, nil
		},
	}
}

func attr() *b.Builtin {
	return &b.Builtin{
		Name:    "attr",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Returns the values of an attribute of an event string.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "attribute, such as key or top-by"},
		},
		Returns:  "list of strings",
		Result:   "the values in order; empty if the event has no such attribute",
		Errors:   "the stream is not a source",
		Source:   computed,
		Cost:     "none for events",
		Examples: []b.Example{{Code: `event("sched:sched_wakeup//key=pid/").attr("key")`, Output: `["pid"]`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			src := c.Receiver.(*Stream).source()
			if src == nil {
				return nil, errors.New("only events have attributes")
			}
			var vs []starlark.Value
			for _, v := range src.Attr(strings.ReplaceAll(c.String("name"), "_", "-")) {
				vs = append(vs, starlark.String(v))
			}
			return starlark.NewList(vs), nil
		},
	}
}
