package recording

import (
	"debug/elf"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/stack/unwind"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"golang.org/x/sys/unix"
)

// This file finds the events to record and decides how each is sampled.

// A Sampling says how often events are sampled, and which data each sample has.
type Sampling struct {
	Period, Freq uint64
	Stack        bool
	Dwarf        uint32 // bytes of user stack per sample, to unwind by DWARF tables; 0: frame pointers
	Cgroups      bool   // samples have the cgroup
	Addresses    bool   // samples have the data address
	Branches     bool   // samples have the branches that the CPU took before
	Only         string // modifier of all events: u (user space only) or k (kernel only)
}

// Check is an error if both Freq and Period are given.
func (s *Sampling) Check() error {
	if s.Freq > 0 && s.Period > 0 {
		return usagef("option", "--freq", "--count is given too").WithHint("give one of them")
	}
	return nil
}

// ReadCallGraph reads the value of --call-graph.
func (s *Sampling) ReadCallGraph(text string) error {
	s.Stack = true
	kind, size, sized := strings.Cut(text, ",")
	switch {
	case kind == "fp" && !sized:
	case kind == "dwarf":
		s.Dwarf = dwarfBytes
		if sized {
			n, err := unit.ParseSize(size)
			if err != nil || n < 8 || n >= 1<<16 {
				return usagef("option", "--call-graph", "got %q bytes of stack, want 8 to 65528", size).
					WithHint("write --call-graph dwarf,8192")
			}
			s.Dwarf = uint32(n) &^ 7
		}
	default:
		return usagef("option", "--call-graph", "got %q, want fp, dwarf or dwarf,BYTES", text).
			WithHint("write --call-graph fp; frame pointers are what -g takes")
	}
	return nil
}

// dwarfBytes is the default number of bytes of user stack to copy, the same as
// perf's.
const dwarfBytes = 8192

// apply configures an event. Without a period or a frequency, each occurrence of
// tracepoints and breakpoints is recorded, and all other events are sampled DefaultFreq
// times a second, as perf record does: to record every page fault would fill the rings.
func (s *Sampling) apply(ev *perf.EventConfig) {
	ev.Period, ev.Freq = s.Period, s.Freq
	if ev.Period == 0 && ev.Freq == 0 && ev.Schema.Type == unix.PERF_TYPE_SOFTWARE &&
		ev.Schema.ID != unix.PERF_COUNT_SW_BPF_OUTPUT {
		ev.Freq = perf.DefaultFreq
	}
	if s.Stack {
		ev.Callchain = true
	}
	if s.Dwarf > 0 {
		ev.ExcludeChainUser, ev.RegsUser, ev.StackUser = true, unwind.Mask(elf.EM_NONE), s.Dwarf
	}
}

// branches has the CPU tell the branches that it took before each sample, which only its own counters do.
func (s *Sampling) branches(ev *perf.EventConfig, schema *event.Schema) error {
	if !s.Branches {
		return nil
	}
	ev.Branches = true
	switch pmus, err := kernel.ReadPMUs(kernel.Roots{}); {
	case err == nil && !kernel.HasCPU(pmus):
		return usagef("record", "-b", "the counters of the CPU record branches, and this machine shows none").
			WithHint("leave out -b; call stacks need no counters: -g")
	case schema.Type == unix.PERF_TYPE_SOFTWARE, schema.Type == unix.PERF_TYPE_TRACEPOINT:
		return usagef("record", "-b", "the counters of the CPU record branches, %s is none",
			schema.FullName()).
			WithHint("record -b -e cycles")
	}
	return nil
}

// UsualEvents returns the event that is recorded if none is named, the same as
// perf record's: CPU cycles, or the CPU clock where the CPU has no counters.
func UsualEvents() []string {
	if pmus, err := kernel.ReadPMUs(kernel.Roots{}); err == nil && kernel.HasCPU(pmus) {
		return []string{"hardware:cycles"}
	}
	return []string{"cpu-clock"}
}

// Config finds the named events and adds them to cfg. It calls say with notes for the user.
func Config(events []string, how Sampling, cfg perf.Config, say func(line string)) (perf.Config, error) {
	cfg.SampleCPU = true
	cfg.SideBand = perf.SideBand{Comm: true, Mmap: true, Task: true, Events: true}
	cfg.Members = []event.Member{event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberPeriod}
	cfg.SideBand.MmapData = how.Dwarf > 0
	if how.Cgroups {
		cfg.Members, cfg.SideBand.Cgroup = append(cfg.Members, event.MemberCgroup), true
	}
	if how.Addresses {
		cfg.Members = append(cfg.Members, event.MemberAddr)
	}
	if cfg.Pages == 0 {
		cfg.Pages = RingPages(0)
	}
	found := eventkind.Finder{Symbols: symbol.NewKernel(""), Say: say, Note: say}
	for _, text := range events {
		sources, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			return cfg, err
		}
		for _, s := range sources {
			if s, err = recordable(s); err != nil {
				return cfg, err
			}
			if err := eventstring.Modify(s, how.Only); err != nil {
				return cfg, err
			}
			schemas, err := found.Find(s)
			if err != nil {
				return cfg, err
			}
			for _, schema := range schemas {
				ev := eventkind.Opened(s, schema, s.Alias, s.Filter)
				ev.Callchain, ev.MaxStack = s.Stack, s.MaxStack
				found.Configure(&ev, s, nil)
				if err := how.branches(&ev, schema); err != nil {
					return cfg, err
				}
				how.apply(&ev)
				if s.Period > 0 || s.Freq > 0 {
					ev.Period, ev.Freq = s.Period, s.Freq
				}
				cfg.Events = append(cfg.Events, ev)
				if ip := ev.Callchain || schema.Type != unix.PERF_TYPE_TRACEPOINT; ip &&
					!slices.Contains(cfg.Members, event.MemberIP) {
					// perf prints call chains only of samples with an IP
					cfg.Members = append(cfg.Members, event.MemberIP)
				}
			}
		}
	}
	cfg.Tracefs = found.Tracefs()
	if len(cfg.Events) == 0 {
		return cfg, usagef("record", "events", "none given").WithHint("add -e sched:sched_switch")
	}
	return cfg, nil
}

// recordable returns the event that a source names, or an error if it cannot be
// recorded.
func recordable(s *plan.Source) (*plan.Source, error) {
	switch s.Kind {
	case eventspec.Script:
		if e := eventkind.OfPMU(s); e != nil {
			return e, nil
		}
		return nil, usagef("record", s.FullName(), "is not an event; want system:name").
			WithHint("list the events: ppscript list events")
	case eventspec.Tool:
		return nil, usagef("record", s.FullName(), "it is a time, and never happens").
			WithHint("count it: ppscript stat -e %s -- COMMAND", s.Name)
	case eventspec.Probe:
		return nil, usagef("record", s.FullName(), "probes and breakpoints cannot be recorded yet").
			WithHint("observe them live: ppscript trace -e ...")
	}
	return s, nil
}

// usagef makes an error about a mistake on the command line.
func usagef(op, subject, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, subject, format, args...)
}
