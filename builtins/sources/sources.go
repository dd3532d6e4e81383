// Package sources declares the builtins that make streams from events:
// tracepoints, probes, software events, hardware counters, samples, profilers,
// and event strings in perf-prof's notation.
package sources

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"

	"go.starlark.net/starlark"
)

// Builtins declares the sources, except probes.
func Builtins() []*b.Builtin {
	return []*b.Builtin{
		tracepoint(), software(), sample(), hardware(), cache(), pmu(), pmuEvent(), memoryAccess(),
		eventString(),
		eventList(), profiler(), pairsOf(), kernelRecords(), threads(), splitLocks(), counters(),
	}
}

func tracepoint() *b.Builtin {
	return &b.Builtin{
		Name:    "tracepoint",
		Group:   b.Sources,
		Summary: "The events of a kernel tracepoint, or of several.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "system:name; * ? [a-z] name several"},
			{Name: "filter", Type: b.String, Default: starlark.String(""), Doc: "the kernel's filter language, such as prev_pid > 0"},
			{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"},
			{Name: "cpus", Type: b.String, Named: true, Doc: "only these CPUs, such as 0-3,8"},
			{Name: "period", Type: b.Int, Named: true, Unit: "hits", Doc: "one event for this many hits that pass the filter, on each CPU; its field period says how many. A recording keeps its own"},
			{Name: "freq", Type: b.Int, Named: true, Unit: "Hz", Doc: "instead of period: events a second. The kernel adapts the period, and no program in the kernel processes the events"},
			{Name: "optional", Type: b.Bool, Default: starlark.False, Named: true, Doc: "left out, with a note, where it does not exist"},
			{Name: "or_else", Type: b.String, Named: true, Doc: "another tracepoint to use if this one does not exist, here or in the recording"},
			{Name: "having", Type: b.String, Named: true, Doc: "use the event only if it has this field, or with !field if it lacks it: for events whose fields differ between kernels, so that a script can merge the variants"},
			{Name: "beside", Type: b.String, Named: true, Doc: "another event, system:name; if that does not exist or cannot be observed in the same way, this one is left out too, with a note: for pairs that need both"},
		},
		Returns: "stream",
		Result:  "one event for each hit, with the fields of its format file, irqs_disabled and tif_need_resched. Like every event it has time, pid, tid, cpu, comm, comm_nodigit (without the digits at the end), and where its thread ran: cgroup, cgroup_id, container, pod, unit (docs/containers.md)",
		Errors:  "no such event, with the nearest name; a filter that the kernel refuses, with its message; no permission",
		Source:  "perf_event_open on the tracepoint; any kernel; CAP_PERFMON and a readable tracefs",
		Cost:    "about 250 ns per hit for the traced program; filtered hits about 80 ns",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_switch", filter = "prev_pid > 0")`, Output: "<stream sched:sched_switch>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Tracepoint, Filter: c.String("filter"), Alias: c.String("alias"),
				Absence: eventspec.Absence{
					Optional: c.Bool("optional"),
					OrElse:   c.String("or_else"),
					Having:   c.String("having"),
					Beside:   c.String("beside"),
				}, Pos: c.Pos(),
			}}
			for _, p := range []string{"name", "or_else", "beside"} {
				if !c.Has(p) {
					continue
				}
				sys, name, ok := strings.Cut(c.String(p), ":")
				if !ok || sys == "" || name == "" {
					return nil, c.Error(p, fmt.Errorf("got %q, want system:name", c.String(p)),
						"list the events: ppscript list")
				}
				if p == "name" {
					s.System, s.Name = sys, name
				}
			}
			if err := errors.Join(onCPUs(c, s), howOften(c, s)); err != nil {
				return nil, err
			}
			return &pipeline.Stream{S: s}, nil
		},
	}
}

// howOften reads the parameters period and freq.
func howOften(c *b.Call, s *plan.Source) error {
	for _, p := range []string{"period", "freq"} {
		if c.Has(p) && c.Int(p) < 1 {
			return c.Errorf(p, "got %d, want at least 1", c.Int(p))
		}
	}
	if c.Has("period") && c.Has("freq") {
		return c.Error("freq", errors.New("a period is given too"), "give either a period or a frequency")
	}
	s.Period, s.Freq = uint64(c.Int("period")), uint64(c.Int("freq"))
	return nil
}

func software() *b.Builtin {
	return &b.Builtin{
		Name:    "software",
		Group:   b.Sources,
		Summary: "The events of a counter that the kernel keeps in software.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "page-faults, context-switches, cpu-migrations, cpu-clock, ..."},
			{Name: "period", Type: b.Int, Named: true, Unit: "occurrences", Doc: "occurrences for each event; for clocks, ns"},
			{Name: "freq", Type: b.Int, Named: true, Unit: "Hz", Doc: "instead of period: events a second"},
			{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"},
		},
		Returns:  "stream",
		Result:   "events with the fields of a sample only: time, pid, tid, cpu, period, comm",
		Errors:   "no such event, with the nearest name; both period and freq",
		Source:   "perf_event_open; any kernel; CAP_PERFMON for other users' tasks",
		Cost:     "about 200 ns per event for the traced program",
		Examples: []b.Example{{Code: `software("page-faults")`, Output: "<stream software:page-faults>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Software, Name: c.String("name"), Alias: c.String("alias"), Pos: c.Pos(),
			}}
			if err := howOften(c, s); err != nil {
				return nil, err
			}
			return &pipeline.Stream{S: s}, nil
		},
	}
}

// parse parses event strings. Lists of CPUs are checked against the CPUs that
// this machine may have.
func parse(text string) ([]*plan.Source, error) { return eventstring.Parse(text, kernel.ParseCPUList) }

func eventString() *b.Builtin {
	return &b.Builtin{
		Name:    "event",
		Group:   b.Sources,
		Summary: "The events of one event string in perf-prof's notation.",
		Params: []b.Param{
			{Name: "text", Type: b.String, Required: true, Doc: `sys:name/filter/attribute=value/.../; sys:name is also kprobe:func, uprobe:func@"file", usdt:provider:name@"file"; a profiler's name, with options as the filter; an event of a PMU, msr/tsc/; perf's modifiers stand behind a name, page-faults:u; period=100 takes one of 100, freq=50 takes 50 a second; push=ADDRESS sends the events, with their stacks if they have some, pull=ADDRESS receives them: PORT (on this machine: root and the same user), unix:PATH (likewise), IP:PORT and vsock:CID:PORT (both sides must know $PPSCRIPT_TOKEN), a device, a file; several with commas, in quotes`},
		},
		Returns: "stream",
		Result:  "the events; attributes are for the script: stream.attr(name)",
		Errors:  "a text that does not follow the notation, with the place of the mistake",
		Source:  "as tracepoint and software",
		Cost:    "as tracepoint and software",
		Examples: []b.Example{
			{Code: `event("sched:sched_wakeup/pid > 0/key=pid/")`, Output: "<stream sched:sched_wakeup>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			list, err := parse(c.String("text"))
			if err != nil {
				return nil, err
			}
			if len(list) != 1 {
				return nil, c.Error("text", fmt.Errorf("got %d events, want one", len(list)),
					"use events(...) for a list")
			}
			return stream(c, list[0])
		},
	}
}

// stream makes the stream of an event string.
func stream(c *b.Call, s *plan.Source) (*pipeline.Stream, error) {
	if s.Kind == eventspec.Script {
		return ofString(c.Host(), s)
	}
	return &pipeline.Stream{S: s}, nil
}

func eventList() *b.Builtin {
	return &b.Builtin{
		Name:    "events",
		Group:   b.Sources,
		Summary: "The events of event strings in perf-prof's notation, as a list.",
		Params: []b.Param{
			{Name: "text", Type: b.Or(b.String, b.ListOf(b.String)), Required: true, Doc: "EVENT,EVENT,... or several such texts, as an events option gives them"},
			{Name: "or_else", Type: b.Dict, Named: true, Doc: "tracepoints to use in place of others that do not exist, here or in the recording: {\"sched:sched_wakeup\": \"sched:sched_waking\"}"},
			{Name: "optional", Type: b.ListOf(b.String), Named: true, Doc: "tracepoints that are left out, with a note, where they do not exist"},
		},
		Returns: "list of streams",
		Result:  "one stream for each event, in order",
		Errors:  "a text that does not follow the notation, with the place of the mistake",
		Source:  "as tracepoint and software",
		Cost:    "as tracepoint and software",
		Examples: []b.Example{{Code: `events("sched:sched_wakeup,sched:sched_switch//key=next_pid/")`,
			Output: "[<stream sched:sched_wakeup>, <stream sched:sched_switch>]"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			var out []starlark.Value
			for _, text := range c.Strings("text") {
				list, err := parse(text)
				if err != nil {
					return nil, err
				}
				for _, s := range list {
					if err := mayLack(c, s); err != nil {
						return nil, err
					}
					st, err := stream(c, s)
					if err != nil {
						return nil, err
					}
					out = append(out, st)
				}
			}
			return starlark.NewList(out), nil
		},
	}
}

// mayLack sets whether the source s may be missing, and which event is used
// instead, from the parameters optional and or_else.
func mayLack(c *b.Call, s *plan.Source) error {
	if s.Kind != eventspec.Tracepoint {
		return nil
	}
	if c.Has("optional") {
		s.Optional = slices.Contains(c.Strings("optional"), s.FullName())
	}
	if !c.Has("or_else") {
		return nil
	}
	for _, item := range c.Value("or_else").(*starlark.Dict).Items() {
		name, ok := starlark.AsString(item[0])
		instead, isText := starlark.AsString(item[1])
		if !ok || !isText || !strings.Contains(name, ":") || !strings.Contains(instead, ":") {
			return c.Error("or_else", fmt.Errorf("got %s: %s, want system:name of both", item[0], item[1]),
				"list the events: ppscript list")
		}
		if glob.Match(s.FullName(), name) {
			s.OrElseOf, s.OrElse = name, instead
		}
	}
	return nil
}

// maxRuns bounds how often a command is run.
const maxRuns = 100_000

func counters() *b.Builtin {
	return &b.Builtin{
		Name:    "counters",
		Group:   b.Sources,
		Summary: "Counts events in the kernel and reads the counters periodically: next to no cost per event.",
		Params: []b.Param{
			{Name: "events", Type: b.ListOf(b.Is("stream")), Required: true, Doc: "sources, without .where(...): a filter is the kernel's"},
			{Name: "period", Type: b.Duration, Named: true, Doc: "time between reads; else the report interval"},
			{Name: "instances", Type: b.Bool, Default: starlark.False, Named: true, Doc: "one event for each CPU or thread instead of their sum"},
			{Name: "hits", Type: b.Bool, Default: starlark.False, Named: true, Doc: "count the hits of tracepoints such as sched_stat_runtime, for which the kernel counts nanoseconds: each hit is an event, of value 1"},
			{Name: "missing", Type: b.Bool, Default: starlark.False, Named: true, Doc: "no notes about optional sources that do not exist, because the script shows them"},
			{Name: "runs", Type: b.Int, Default: starlark.MakeInt(1), Named: true, Doc: "how often the observed command runs, one run after the other"},
		},
		Returns: "stream",
		Result:  "at each read one event per counter: event, value (difference), cpu, tid, enabled, running, order (position in events), run (which run of the command, from 1)",
		Errors:  "a stream that is not a source; recordings have no counters; runs without a command, or with -i",
		Source:  "perf_event_open without sampling; any kernel; CAP_PERFMON. One program counts 8 or more events of system calls (syscalls:sys_enter_*), with CAP_BPF, unless threads are counted separately",
		Cost:    "about 40 ns per counted event for the traced program; one system call, a microsecond, for each counter and read, so counters do not begin and end at the same moment; closing a tracepoint takes the kernel up to 40 ms",
		Examples: []b.Example{
			{Code: `counters([software("context-switches")], period = 100 * ms)`, Output: "<stream>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n := &plan.Counters{PeriodNS: c.Duration("period"), PerInstance: c.Bool("instances"),
				Hits: c.Bool("hits"), Missing: c.Bool("missing"), Runs: int(c.Int("runs"))}
			if n.Runs < 1 || n.Runs > maxRuns {
				return nil, c.Errorf("runs", "got %d, want 1 to %d", n.Runs, maxRuns)
			}
			for i, v := range c.List("events") {
				src, ok := v.(*pipeline.Stream).S.(*plan.Source)
				if !ok {
					return nil, c.Error("events", fmt.Errorf("stream %d is not a source", i+1),
						"give tracepoint(...), software(...) or event(...)")
				}
				n.In = append(n.In, src)
			}
			if len(n.In) == 0 {
				return nil, c.Errorf("events", "got none, want at least one")
			}
			return &pipeline.Stream{S: n}, nil
		},
	}
}

// onCPUs restricts s to the CPUs in the parameter cpus, if it is given.
func onCPUs(c *b.Call, s *plan.Source) error {
	if !c.Has("cpus") {
		return nil
	}
	cpus, err := kernel.ParseCPUList(c.String("cpus"))
	if err != nil {
		return c.Error("cpus", err, diag.HintOf(err))
	}
	s.CPUs = cpus
	return nil
}
