package pipeline

import (
	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// This file declares the methods that set how a stream takes part in a later
// join: its key, its role, untraced and trigger.

func keyOf() *b.Builtin {
	return &b.Builtin{
		Name:    "key",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Sets the key of these events in a join, in place of the join's own key.",
		Params: []b.Param{
			{Name: "key", Type: keys, Required: true, Doc: "a number or text of the event, or a list of them; all events of a join need the same kind"},
		},
		Returns: "stream",
		Result:  "the events",
		Errors:  runtimeE,
		Source:  computed,
		Cost:    perEvent,
		Examples: []b.Example{{
			Code:   `join([tracepoint("sched:sched_wakeup").key("pid")], [tracepoint("sched:sched_switch").key("next_pid")])`,
			Output: "<stream of pairs>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := arg(c, "key")
			return with(c, &plan.Mark{In: in(c), Key: f}), err
		},
	}
}

func role() *b.Builtin {
	return &b.Builtin{
		Name:    "role",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Says for each event whether it may start or end a pair.",
		Params: []b.Param{
			{Name: "role", Type: b.Expression, Required: true, Doc: "a number: bit 0 (1) lets it be a start, bit 1 (2) an end; 3 is both"},
		},
		Returns: "stream",
		Result:  "the events; a role can only forbid what the event's stage allows",
		Errors:  runtimeE,
		Source:  computed,
		Cost:    perEvent,
		Examples: []b.Example{
			{Code: sw + `join([s.role("(next_pid ? 1 : 0) | (prev_pid ? 2 : 0)")], cycle = True)`, Output: "<stream of pairs>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f, err := arg(c, "role")
			return with(c, &plan.Mark{In: in(c), Role: f}), err
		},
	}
}

func untraced() *b.Builtin {
	return &b.Builtin{
		Name:    "untraced",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Marks events that start and end no pairs, but are shown in the details of slow pairs.",
		Returns: "stream",
		Result:  "the events",
		Errors:  "none",
		Source:  computed,
		Cost:    "30 ns per event while something waits, if details are asked for",
		Examples: []b.Example{{
			Code: "wakeup, s = tracepoint(\"sched:sched_wakeup\"), tracepoint(\"sched:sched_switch\")\n" +
				`join([wakeup.key("pid")], [s.key("next_pid"), tracepoint("sched:sched_migrate_task").untraced()]).slow(10 * ms, detail = detail())`,
			Output: "<log>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return with(c, &plan.Mark{In: in(c), Untraced: true}), nil
		},
	}
}

func trigger() *b.Builtin {
	return &b.Builtin{
		Name:    "trigger",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Ends the interval at each of the events: results are shown, then the event.",
		Returns: "stream",
		Result:  "the events; they only trigger if a result uses them",
		Errors:  "none",
		Source:  computed,
		Cost:    "that of the results",
		Examples: []b.Example{{
			Code: `join([tracepoint("sched:sched_wakeup").key("pid")], [tracepoint("sched:sched_switch").key("next_pid"), ` +
				`tracepoint("sched:sched_process_exec").untraced().trigger()]).latency()`,
			Output: "<table of start, end, calls, total, min, p50, p95, p99, max>",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return with(c, &plan.Mark{In: in(c), Trigger: true}), nil
		},
	}
}
