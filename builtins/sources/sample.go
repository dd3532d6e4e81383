package sources

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// sample declares the source that samples CPUs.
func sample() *b.Builtin {
	flag := func(name, doc string) b.Param {
		return b.Param{Name: name, Type: b.Bool, Default: starlark.False, Named: true, Doc: doc}
	}
	return &b.Builtin{
		Name:    "sample",
		Group:   b.Sources,
		Summary: "Samples what each CPU runs, freq times a second.",
		Params: []b.Param{
			{Name: "freq", Type: b.Int, Unit: "Hz", Default: b.Text("99"), Doc: "samples a second on each CPU"},
			{Name: "period", Type: b.Or(b.Duration, b.Int), Named: true, Doc: "instead of freq: CPU time, or number of events, for each sample"},
			{Name: "event", Type: b.String, Named: true, Default: b.Text("cycles, or cpu-clock without counters of the CPU"),
				Doc: "cpu-clock, task-clock, cycles, instructions, cache-misses, ..."},
			flag("idle", "also sample idle CPUs, where the event is a clock"),
			flag("exclude_user", "not in user code"), flag("exclude_kernel", "not in the kernel"),
			flag("exclude_host", "only in guests"), flag("exclude_guest", "not in guests"),
			{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"},
		},
		Returns: "stream",
		Result: "events with time, pid, tid, cpu, comm, ip, cpumode (1 the kernel, 2 user code, 4 and 5 those of a guest), and period: ns of a clock, " +
			"else how often the event happened. A .where() can also use nr_running, irqs_disabled, tif_need_resched, sched_policy and prio, " +
			"which a program in the kernel reads",
		Errors: "no such event, with the nearest name; both freq and period; a frequency above the kernel's limit; no such counter on this CPU",
		Source: "perf_event_open; any kernel; CAP_PERFMON for other users' tasks; the counters of the CPU are missing in most virtual machines",
		Cost:   "1 us per sample, 3 us with stacks: under 0.1 % of a CPU at 99 Hz",
		Examples: []b.Example{
			{Code: `sample(freq = 99).by("comm").count()`, Output: "<table of comm, count>"},
		},
		Impl: sampleImpl,
	}
}

func sampleImpl(c *b.Call) (starlark.Value, error) {
	s := &plan.Source{Spec: eventspec.Spec{Alias: c.String("alias"), Pos: c.Pos()}}
	if err := sampled(c, s); err != nil {
		return nil, err
	}
	s.Exclude = eventspec.Exclude{User: c.Bool("exclude_user"), Kernel: c.Bool("exclude_kernel"),
		Hypervisor: c.Bool("exclude_kernel"),
		Host:       c.Bool("exclude_host"),
		Guest:      c.Bool("exclude_guest"), Idle: !c.Bool("idle")}
	if s.Exclude.User && s.Exclude.Kernel {
		return nil, c.Error("exclude_kernel", errors.New("exclude_user is given too: nothing is left"),
			"give one of both")
	}
	switch v := c.Value("period").(type) {
	case starlark.NoneType:
		s.Freq = 99
	case starlark.Int:
		n, ok := v.Int64()
		if !ok || n < 1 {
			return nil, c.Errorf("period", "got %v, want at least 1", v)
		}
		s.Period = uint64(n)
	default:
		s.Period = uint64(c.Duration("period"))
		if s.Kind != eventspec.Software {
			return nil, c.Error("period", fmt.Errorf("a time, but %s does not measure time", s.Name),
				`write event = "cpu-clock", or a number of events`)
		}
		if s.Period < 1 {
			return nil, c.Errorf("period", "got 0, want a time")
		}
	}
	if c.Has("freq") {
		if c.Has("period") {
			return nil, c.Error("freq", errors.New("a period is given too"), "give either freq or period")
		}
		if c.Int("freq") < 1 {
			return nil, c.Errorf("freq", "got %d, want at least 1", c.Int("freq"))
		}
		s.Freq = uint64(c.Int("freq"))
	}
	return &pipeline.Stream{S: s}, nil
}

// sampled finds the event to sample by its name: a software event, a hardware
// counter or a cache event.
func sampled(c *b.Call, s *plan.Source) error {
	if !c.Has("event") {
		s.Kind, s.Name, s.OrElse = eventspec.Hardware, "cycles", "cpu-clock"
		if _, time := c.Value("period").(starlark.NoneType); !time && c.Duration("period") > 0 {
			s.Kind, s.Name, s.OrElse = eventspec.Software, "cpu-clock", ""
		}
		return nil
	}
	s.Name = c.String("event")
	for _, k := range []struct {
		kind eventspec.Kind
		find func() error
	}{
		{eventspec.Software, func() error { _, err := perf.SoftwareSchema(s.Name); return err }},
		{eventspec.Hardware, func() error { _, err := perf.HardwareSchema(s.Name); return err }},
		{eventspec.Cache, func() error { _, err := perf.CacheSchema(s.Name); return err }},
	} {
		if k.find() == nil {
			s.Kind = k.kind
			return nil
		}
	}
	var names []string
	names = append(append(append(names, perf.SoftwareNames()...), perf.HardwareNames()...),
		perf.CacheNames()...)
	return c.Error("event", fmt.Errorf("no event %q%s", s.Name, diag.DidYouMean(s.Name, names)),
		`use "cpu-clock" or "cycles"`)
}
