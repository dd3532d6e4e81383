package pipeline

import (
	"errors"
	"runtime"
	"strings"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/why"
	"ppscript/runtime/why/slowspan"

	"go.starlark.net/starlark"
)

// whyParams are the parameters that why and why_thread share.
var whyParams = []b.Param{
	{Name: "events", Type: b.ListOf(b.Is("stream")), Named: true, Doc: "the events to explain with; by default all useful ones that this machine has"},
	{Name: "depth", Type: b.Int, Default: starlark.MakeInt(8), Named: true, Doc: "how many threads are followed: from a thread that waits to the thread that it waits for, and so on"},
	{Name: "before", Type: b.Duration, Default: b.Text("100 ms"), Named: true, Doc: "how much history before a span is used, to know what threads did when it began"},
	{Name: "limit", Type: b.Size, Default: b.Text("64 MiB"), Named: true, Doc: "memory for these events. If programs in the kernel keep them, the CPUs share half of it, or each CPU has the size of -m. Time whose events were removed is unknown"},
	{Name: "stacks", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also the stacks with which threads left their CPU, and those of the threads that woke them"},
}

const (
	whyResult = "causes with their shares of all the time; the slowest with their parts in time order, which add up to them exactly. If a thread waited for another, the other thread's causes are shown. Time that cannot be explained is unknown, with the reason"
	whySource = "the events given; by default scheduling, interrupts, system calls, faults, disk requests, locks"
)

// whyOf completes the report y from the shared parameters. waiting is the
// parameter of that name.
func whyOf(c *b.Call, y *plan.Why, waiting bool) (starlark.Value, error) {
	y.Depth, y.LimitBytes = int(c.Int("depth")), int(c.Size("limit"))
	y.BeforeNS, y.Stacks = c.Duration("before"), c.Bool("stacks")
	switch {
	case y.BeforeNS < 0:
		return nil, c.Errorf("before", "got %v, want 0 or more", c.Value("before"))
	case y.Depth < 1:
		return nil, c.Errorf("depth", "got %d, want 1 or more", y.Depth)
	}
	if !c.Has("events") {
		var err error
		y.History, err = history(y, waiting, &c.Host().Session)
		return &results.Why{Report: y}, err
	}
	for _, v := range c.List("events") {
		y.History = append(y.History, v.(*Stream).S)
	}
	return &results.Why{Report: y}, nil
}

func whyThread() *b.Builtin {
	return &b.Builtin{
		Name:    "why_thread",
		Group:   b.Sources,
		Summary: "Says where all the time of a thread went: each nanosecond has one cause.",
		Params: append([]b.Param{
			{Name: "tid", Type: b.Int, Required: true, Doc: "the number of the thread"},
			{Name: "window", Type: b.Duration, Default: b.Text("1 s"), Doc: "the length of the times that are explained one by one"},
		}, whyParams...),
		Returns:  "why",
		Result:   whyResult,
		Errors:   "the window is not longer than 0",
		Source:   whySource,
		Cost:     "100 ns for each event of the history",
		Examples: []b.Example{{Code: `why_thread(4711, window = 1 * s)`, Output: "<why>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			y := &plan.Why{TID: int32(c.Int("tid")), WindowNS: c.Duration("window")}
			if y.WindowNS <= 0 {
				return nil, c.Errorf("window", "got %v, want more than 0", c.Value("window"))
			}
			return whyOf(c, y, false)
		},
	}
}

func whyPairs() *b.Builtin {
	return &b.Builtin{
		Name:    "why",
		Type:    "stream",
		Group:   b.PairMethods,
		Summary: "Explains where the time of slow pairs, or other spans, went: each nanosecond has one cause.",
		Params: append([]b.Param{
			{Name: "than", Type: b.Duration, Doc: "explain pairs that take longer; else all of them"},
			{Name: "slowest", Type: b.Float, Named: true, Doc: "explain this share of the pairs, the longest so far; for the first 100 pairs this is decided when all 100 have ended, or the run ends"},
			{Name: "thread", Type: b.Expression, Named: true, Doc: "the number of the thread whose time is explained; by default the key, if that is a thread, or the thread of the end"},
			{Name: "label", Type: b.Expression, Named: true, Doc: "name of the pairs; by default the names of their events"},
			{Name: "waiting", Type: b.Bool, Default: starlark.False, Named: true, Doc: "without events: the pairs are times in which their thread waits for a CPU, as those of rundelay. System calls, faults, disks and locks are then not observed"},
			{Name: "compare", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also explain pairs that are not slow, one every 10 ms, to show which causes take more time in slow pairs"},
		}, whyParams...),
		Returns: "why",
		Result:  whyResult,
		Errors:  "the events are no spans (unpaired ones are allowed: their age counts); slowest is not between 0 and 1",
		Source:  whySource,
		Cost: "while nothing is slow, in programs of the kernel 25 ns of the traced program for each event of the history; else as the events. " +
			"1 us for each event around a pair that is explained; in live runs at most a quarter of the time; pairs beyond that are counted as skipped",
		Examples: []b.Example{{
			Code:   `join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "_tid").why(than = 10 * ms)`,
			Output: "<why>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			y := &plan.Why{In: in(c),
				Choice: slowspan.Choice{Than: c.Duration("than"), Compare: c.Bool("compare")}}
			if !c.Receiver.(*Stream).spans() {
				return nil, c.Error("why", errors.New("the stream has no spans"),
					`take pairs, spans(begin, end), a fold with begin = "since", or parts of these by during`)
			}
			if c.Has("slowest") {
				if y.Slowest = c.Float("slowest"); y.Slowest <= 0 || y.Slowest >= 1 {
					return nil, c.Errorf("slowest", "got %v, want a share between 0 and 1", y.Slowest)
				}
			}
			var err error
			if y.Thread, err = arg(c, "thread"); err != nil {
				return nil, err
			}
			if y.Label, err = arg(c, "label"); err != nil {
				return nil, err
			}
			return whyOf(c, y, c.Bool("waiting"))
		},
	}
}

// history returns the events from which package why explains spans. With waiting, only
// events about a thread that waits for a CPU are needed. Events that the pairs already use
// are not opened again.
func history(y *plan.Why, waiting bool, of *script.Session) ([]plan.Stream, error) {
	var list []plan.Stream
	for _, n := range why.Needs() {
		if waiting && !whileWaiting(n.Event) {
			continue
		}
		var src *plan.Source
		if !of.ByThread {
			src = plain(y.In, n.Event, false)
		} // else the pairs' events are only of some threads
		if src == nil {
			parsed, err := eventstring.Parse(beginOfFault(n.Event, of.Recorded), kernel.ParseCPUList)
			if err != nil {
				return nil, err
			}
			src = parsed[0]
			src.Optional, src.Quiet = n.Optional, true
			if len(n.Instead) > 0 {
				src.OrElse = n.Instead[0]
			}
		}
		var s plan.Stream = src
		if y.Stacks && n.Stack {
			s = &plan.WithStack{In: s, Spec: stack.Choice{Kernel: true, User: true, Unwind: "fp"}}
		}
		list = append(list, s)
	}
	return list, nil
}

// beginOfFault replaces exceptions:page_fault_user, which only x86 has, by software:page-faults on
// other machines. On x86 the software event comes later than the tracepoint; elsewhere it comes at
// the beginning of the fault.
func beginOfFault(name string, recorded bool) string {
	if name == "exceptions:page_fault_user" && runtime.GOARCH != "amd64" && !recorded {
		return "software:page-faults"
	}
	return name
}

// whileWaiting reports that an event helps to explain why a thread waits for a CPU: it is
// about the use of CPUs, not about the activity of the thread.
func whileWaiting(name string) bool {
	for _, of := range []string{"sched:", "irq:", "irq_vectors:", "workqueue:", "kprobe:"} {
		if strings.HasPrefix(name, of) {
			return true
		}
	}
	return false
}

// plain finds a source in the stream s that has all events with a name; nil if there is
// none. joined says that s is an input of a join, where a condition would leave events
// out.
func plain(s plan.Stream, name string, joined bool) *plan.Source {
	switch s := s.(type) {
	case *plan.Source:
		all := s.Filter == "" && s.Sampling == (eventspec.Sampling{}) && s.CPUs == nil
		if s.FullName() == name && all && len(s.Attr("untraced")) == 0 {
			return s
		}
		return nil
	case *plan.Where:
		if joined {
			return nil
		}
	case *plan.Join:
		joined = true
	case *plan.Let, *plan.Mark, *plan.Merge, *plan.WithStack, *plan.Unpaired:
	default:
		return nil
	}
	for _, in := range s.Inputs() {
		if src := plain(in, name, joined); src != nil {
			return src
		}
	}
	return nil
}
