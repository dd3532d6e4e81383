package pipeline

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

func joinStages() *b.Builtin {
	stage := b.Or(b.Is("stream"), b.ListOf(b.Is("stream")))
	return &b.Builtin{
		Name:    "join",
		Group:   b.Combinators,
		Summary: "Relates each event to the one that follows it: starts and ends, stage by stage.",
		Params: []b.Param{
			{Name: "stage", Type: stage, Rest: "*", Doc: "streams of the first stage, of the second, ...; nested: of an entry and its return"},
			{Name: "key", Type: keys, Named: true, Doc: "the value that a start and its end share, or a list of values; by default the observed thread or CPU"},
			{Name: "cycle", Type: b.Bool, Default: starlark.False, Named: true, Doc: "the last stage also precedes the first; one stage is enough then"},
			{Name: "impl", Type: b.OneOf("pairs", "nested"), Default: starlark.String("pairs"), Named: true,
				Doc: "pairs: an end takes the newest start of its key. nested: entries and returns nest as calls do, each key has a stack"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many starts may wait, in 256 MiB at most; by default a million, or 65,536 inside the kernel"},
		},
		Returns: "stream of pairs",
		Result: "pairs with start, end, delay (duration) and key; an end takes the newest start of its key, if that is of the stage before " +
			"and strictly older. Starts and ends that find none are counted as unmatched (see unpaired), the oldest are evicted at the limit, " +
			"and nothing is related across a loss. If a start or an end is a pair itself, its events are start.start, start.end and so on. Nested pairs also have depth, self (duration without the calls inside) and node. " +
			"The attributes key, role, untraced and trigger of event strings are obeyed. A sched_wakeup or sched_waking of a task that is not asleep starts nothing",
		Errors: "fewer than two stages; a stage without a traced event; keys of different kinds",
		Source: "computed in ppscript, or inside the kernel; explain says which. In the kernel, nested calls need the thread or the CPU as key. " +
			"The oldest starts are evicted once a second, or sooner if many come; until then half as many more may wait. " +
			"Pairs, unpaired events and events of folds can be starts and ends of other joins there, unless they have fields that ppscript reads later. " +
			"Functions of a pattern share two programs if pairs are counted; if pairs are shown, each needs a program of its own, 64 at most",
		Cost: "20 to 40 ns per event, up to 100 with a million open keys; for each start that waits 150 bytes and the parts of its record that are read, or 260 bytes and the whole record",
		Examples: []b.Example{
			{Code: `join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid")`, Output: "<stream of pairs>"},
			{Code: `join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = ["tid", "id"])`, Output: "<stream of pairs>"},
			{Code: "work = \"workqueue:workqueue_\"\n" +
				`join([tracepoint(work + "queue_work")], [tracepoint(work + "execute_start")], [tracepoint(work + "execute_end")], key = "work").latency()`,
				Output: "<table of start, end, calls, total, min, p50, p95, p99, max>"},
			{Code: `join([tracepoint("sched:sched_switch").role("(next_pid ? 1 : 0) | (prev_pid ? 2 : 0)")], cycle = True)`, Output: "<stream of pairs>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			j := &plan.Join{
				Cycle: c.Bool("cycle"), Limit: int(c.Int("limit")), Nested: c.String("impl") == "nested",
			}
			if c.Has("limit") && j.Limit < 1 {
				return nil, c.Errorf("limit", "got %d, want at least 1", j.Limit)
			}
			if j.Cycle && j.Nested {
				return nil, c.Error("cycle", errors.New("calls that nest have no cycle"),
					"leave cycle or impl out")
			}
			for i, v := range c.Rest {
				m := stageOf(v)
				if len(m.In) == 0 {
					return nil, fmt.Errorf("join: stage %d is empty", i+1)
				}
				if j.Nested && len(m.In) < 2 {
					return nil, fmt.Errorf(
						"join: stage %d has one event, want an entry and its return: join([entry, return], impl = \"nested\")",
						i+1)
				}
				j.Stages = append(j.Stages, m)
			}
			need := 2
			if j.Cycle || j.Nested {
				need = 1
			}
			if len(j.Stages) < need {
				return nil,
					fmt.Errorf("join: got %d stages, want at least %d: join([start], [end], key = ...)",
						len(j.Stages), need)
			}
			var err error
			j.Key, err = arg(c, "key")
			return &Stream{S: j, Pairs: true}, err
		},
	}
}

// stageOf makes the stage of a join from a stream or a list of streams.
func stageOf(v starlark.Value) *plan.Merge {
	m := &plan.Merge{}
	switch v := v.(type) {
	case *Stream:
		m.In = append(m.In, v.S)
	case starlark.Tuple:
		for _, s := range v {
			m.In = append(m.In, s.(*Stream).S)
		}
	}
	return m
}
