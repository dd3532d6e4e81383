package pipeline

import (
	b "ppscript/builtins"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/stack"

	"go.starlark.net/starlark"
)

// This file declares the spans of the scheduler: on_cpu, off_cpu and runnable.

const (
	leaves  = "prev_pid > 0 && traced(prev_pid)" // a thread leaves its CPU; thread 0 is the idle thread
	arrives = "next_pid > 0 && traced(next_pid)"
	// pushed holds if the thread lost its CPU although it could go on. The kernel marks only
	// threads that lose the CPU inside the kernel (0x100); most lose it on return to user code,
	// with the state 0.
	pushed = leaves + " && (prev_state == 0 || (prev_state & 0x100) != 0)"
)

// A schedSpan describes one kind of spans.
type schedSpan struct {
	name, label, summary, result string
	begins                       []schedEvent
	end                          schedEvent
	state                        string // expression for the field state of the span
}

// A schedEvent describes an event that begins or ends a span of a thread.
type schedEvent struct {
	event, orElse string
	optional      bool
	when          string
	key, comm     string // expressions for the thread's number and name
	ready         string // of a begin: expression for how the thread became runnable; "": none
}

// schedSpans has the kinds of spans.
var schedSpans = []schedSpan{
	{
		name: "on_cpu", label: "on CPU",
		summary: "Spans of threads on a CPU: from when they get it to when they leave it.",
		result:  "state is how the thread left its CPU, as sched_switch prints prev_state: S sleeps, D waits, R could go on",
		begins:  []schedEvent{{event: "sched_switch", when: arrives, key: "next_pid", comm: "next_comm"}},
		end:     schedEvent{event: "sched_switch", when: leaves, key: "prev_pid"},
		state:   "end.prev_state",
	},
	{
		name: "off_cpu", label: "off CPU",
		summary: "Spans of threads off their CPU: from when they leave it to when they get one again.",
		result:  "state is how the thread left its CPU, as sched_switch prints prev_state: S sleeps, D waits, R is still runnable. The wait for a CPU after a sleep is a part of the span; runnable() has only this wait",
		begins:  []schedEvent{{event: "sched_switch", when: leaves, key: "prev_pid", comm: "prev_comm"}},
		end:     schedEvent{event: "sched_switch", when: arrives, key: "next_pid"},
		state:   "start.prev_state",
	},
	{
		name: "runnable", label: "runnable",
		summary: "Spans of threads that wait for a CPU: from wake-up or preemption to running.",
		result:  "state is R if the thread was woken or is new, R+ if it was preempted",
		begins: []schedEvent{
			{event: "sched_wakeup", orElse: "sched_waking", when: "traced(pid)", key: "pid", comm: "comm", ready: `"R"`},
			{event: "sched_wakeup_new", optional: true, when: "traced(pid)", key: "pid", comm: "comm", ready: `"R"`},
			{event: "sched_switch", when: pushed, key: "prev_pid", comm: "prev_comm", ready: `"R+"`},
		},
		end:   schedEvent{event: "sched_switch", when: arrives, key: "next_pid"},
		state: "start." + readyName,
	},
}

// Names of fields that the begin of a span gets by let: the name of the thread,
// and how it became runnable.
const (
	whoName   = "who"
	readyName = "ready"
)

func schedBuiltins() (list []*b.Builtin) {
	for _, s := range schedSpans {
		list = append(list, s.builtin())
	}
	return list
}

func (s *schedSpan) builtin() *b.Builtin {
	return &b.Builtin{
		Name:    s.name,
		Group:   b.Combinators,
		Summary: s.summary,
		Params: []b.Param{
			{Name: "stack", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also the call stack at the begin, as start.stack"},
		},
		Returns: "stream of pairs",
		Result: "pairs, as of spans: delay (duration), begin, start and end, the scheduler's events, and key, the thread. comm, tid and state describe the thread of the span; pid, and the fields that depend on it (cgroup, container), describe the thread that ran when the span ended. " +
			s.result + ". With a target, only the spans of its threads",
		Errors: "as of tracepoint",
		Source: "sched_switch, and for runnable sched_wakeup, in recordings without it sched_waking; related inside the kernel where join is",
		Cost:   "about 100 ns for each switch and wake-up of the machine; with stack 1 to 4 us for each begin",
		Examples: []b.Example{
			{Code: s.name + `().by("comm", "state").agg(n = agg.count(), p99 = agg.quantile("delay", 0.99), longest = agg.max("delay"))`,
				Output: "<table of comm, state, n, p99, longest>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			var begins []plan.Stream
			for _, e := range s.begins {
				begins = append(begins, e.stream(c, true))
			}
			j := &plan.Join{
				Stages: []plan.Stream{
					&plan.Merge{In: begins},
					&plan.Merge{In: []plan.Stream{s.end.stream(c, false)}},
				},
				Label: func(string, string) string { return s.label },
			}
			vars := []plan.Var{
				{Name: "tid", Fn: text(c, "key")},
				{Name: "comm", Fn: text(c, "start."+whoName)},
				{Name: "state", Fn: text(c, s.state)},
			}
			return &Stream{S: &plan.Let{In: j, Vars: vars, Whose: true}, Pairs: true}, nil
		},
	}
}

// stream returns the stream of the event, with the call stack if the event begins spans
// and the call asks for it.
func (e *schedEvent) stream(c *b.Call, begins bool) plan.Stream {
	src := &plan.Source{Spec: eventspec.Spec{
		Kind: eventspec.Tracepoint, System: "sched", Name: e.event, Pos: c.Pos(),
	}}
	if src.Optional = e.optional; e.orElse != "" {
		src.OrElse = "sched:" + e.orElse
	}
	s := plan.Stream(src)
	if c.Bool("stack") && begins {
		s = &plan.WithStack{In: s, Spec: stack.Choice{Kernel: true, User: true, Unwind: "fp",
			UserBytes: defaultStackBytes, Show: true}}
	}
	s = &plan.Where{In: s, Pred: text(c, e.when)}
	var vars []plan.Var
	for _, v := range []plan.Var{
		{Name: whoName, Fn: text(c, e.comm)},
		{Name: readyName, Fn: text(c, e.ready)},
	} {
		if v.Fn.Text != "" {
			vars = append(vars, v)
		}
	}
	if len(vars) > 0 {
		s = &plan.Let{In: s, Vars: vars}
	}
	key := text(c, e.key)
	return &plan.Mark{In: s, Key: &key}
}

func text(c *b.Call, expression string) plan.Fn { return plan.Fn{Text: expression, Pos: c.Pos()} }
