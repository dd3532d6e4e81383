package pipeline

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// A detail is the value of detail(...): which events to show around a slow
// pair.
type detail struct{ d plan.Detail }

func (d *detail) String() string        { return "<detail>" }
func (d *detail) Type() string          { return "detail" }
func (d *detail) Freeze()               {}
func (d *detail) Truth() starlark.Bool  { return true }
func (d *detail) Hash() (uint32, error) { return 0, errors.New("unhashable: detail") }

func detailOf() *b.Builtin {
	return &b.Builtin{
		Name:    "detail",
		Group:   b.PairMethods,
		Summary: "Says which events are shown around a slow pair.",
		Params: []b.Param{
			{Name: "before", Type: b.Duration, Named: true, Doc: "also events up to this long before the start"},
			{Name: "after", Type: b.Duration, Named: true, Doc: "also events up to this long after the end; pairs are shown later by this time"},
			{Name: "same", Type: b.Or(b.String, b.ListOf(b.String)), Named: true,
				Doc: "only events with the same cpu, pid, tid or key as the start or the end; any of several. cpu follows the task: where it is woken, moved or runs"},
			{Name: "of", Type: b.OneOf("start", "end", "both"), Default: starlark.String("both"), Named: true, Doc: "which event of the pair same is about"},
			{Name: "hide", Type: b.Duration, Named: true, Doc: "leave out events that follow the event before them sooner than this"},
			{Name: "task", Type: b.OneOf("thread", "key"), Default: starlark.String("thread"), Named: true,
				Doc: "the task that is followed: the thread of the start, or the key if that is a thread number"},
			{Name: "limit", Type: b.Size, Default: b.Text("64 MiB"), Named: true, Doc: "memory for the events that are kept; older ones are evicted. If programs in the kernel keep them, the CPUs share it, 8 MiB each at most, or each has the size of -m; if events were overwritten, the detail says since when it is complete. Texts of more than 127 bytes (file names) are cut there, and end with ..."},
			{Name: "age", Type: b.Duration, Default: b.Text("2 min"), Named: true, Doc: "how long events are kept for a start that finds no end"},
		},
		Returns: "detail",
		Result:  "an argument of slow",
		Errors:  "same names something else",
		Source: "computed in ppscript, or programs in the kernel keep the events; explain says which. Programs keep sched_stat_* only if their period is not used, " +
			"and of all tasks: perf delivers them to the task that they describe, not to the one that runs",
		Cost: "30 ns per event while something waits, the memory of limit; in the kernel 25 ns of the observed thread per event, and no time of ppscript while no pair is slow",
		Examples: []b.Example{
			{Code: `detail(before = 1 * ms, same = ["cpu", "key"], hide = 10 * us)`, Output: "<detail>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			d := &detail{plan.Detail{LimitBytes: int(c.Size("limit")), MaxAgeNS: c.Duration("age"),
				Select: join.Select{Before: c.Duration("before"), After: c.Duration("after"),
					HideNS:    c.Duration("hide"),
					KeyIsTask: c.String("task") == "key", OnlyStart: c.String("of") == "start",
					OnlyEnd: c.String("of") == "end"}}}
			for _, p := range []string{"before", "after", "hide", "age"} {
				if c.Duration(p) < 0 {
					return nil, c.Errorf(p, "got %v, want 0 or more", c.Value(p))
				}
			}
			for _, s := range c.Strings("same") {
				switch s {
				case "cpu":
					d.d.SameCPU = true
				case "pid":
					d.d.SamePID = true
				case "tid":
					d.d.SameTID = true
				case "key":
					d.d.SameKey = true
				default:
					return nil, c.Error("same", fmt.Errorf("got %q", s), `use "cpu", "pid", "tid" or "key"`)
				}
			}
			return d, nil
		},
	}
}

func slow() *b.Builtin {
	return &b.Builtin{
		Name:    "slow",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Shows pairs that take too long, with what happened during them.",
		Params: []b.Param{
			{Name: "than", Type: b.Duration, Doc: "show pairs that take longer"},
			{Name: "lower", Type: b.Duration, Named: true, Doc: "show pairs that take less"},
			{Name: "detail", Type: b.Is("detail"), Named: true, Doc: "events around the pair to show, from detail(...); none: only start and end"},
		},
		Returns: "log",
		Result: "start and end as lines. With detail, all events of the join between them: the delay beside the first, the time since the start, " +
			"[wakeup] [running] [preempt] [sleeping] [waiting] [migrate] when the state of the followed task changes, and how long a thread ran that leaves the CPU",
		Errors: "neither than nor lower; the stream is not one of pairs (unpaired events are allowed: their age counts)",
		Source: computed,
		Cost:   "2 ns per pair that is not shown",
		Examples: []b.Example{{
			Code: `join([tracepoint("sched:sched_wakeup").key("pid")], [tracepoint("sched:sched_switch").key("next_pid")])` +
				`.slow(than = 10 * ms, detail = detail(same = "cpu", task = "key"))`,
			Output: "<log>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := &plan.Slow{In: in(c), Than: -1, Lower: -1}
			if !c.Has("than") && !c.Has("lower") {
				return nil, c.Error("than", errors.New("missing"), "write .slow(than = 10 * ms)")
			}
			if c.Has("than") {
				s.Than = c.Duration("than")
			}
			if c.Has("lower") {
				s.Lower = c.Duration("lower")
			}
			if c.Has("detail") {
				d := c.Value("detail").(*detail).d
				s.Detail = &d
			}
			return &results.Log{Report: s}, nil
		},
	}
}
