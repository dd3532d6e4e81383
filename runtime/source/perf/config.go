package perf

import (
	"math/bits"
	"os"

	"ppscript/runtime/event"
	"ppscript/runtime/record/sent"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"golang.org/x/sys/unix"
)

// A Config has the events to open, the target and the size of the rings. The
// zero value of each member except Events works.
type Config struct {
	Events []EventConfig
	Target Target

	// Members are the sample members that will be read. Samples have no others, since
	// each one costs the observed program time. Nil means time, pid, tid and cpu.
	// With SideBand, samples always have the time.
	Members []event.Member
	// SampleCPU adds the CPU to each record even if it is known from the ring,
	// as needed for a recording.
	SampleCPU bool
	// SideBand opens an additional dummy event for side records.
	SideBand SideBand

	Pages     int // pages of 4 KiB in each ring, a power of two; 0 is DefaultPages
	Watermark int // percentage of a ring at which Poll is woken; 0 is 50
	// Prompt wakes Poll for each record. It is for records whose processing
	// reads data that change soon, such as the memory of the process.
	Prompt bool
	// Spool bounds the memory, in bytes, to which records of rings are copied
	// while the caller does not poll; 0 is none. It is for callers that may be
	// busy for longer than it takes to fill the rings.
	Spool     int
	Overwrite bool // keep the newest records when a ring is full, not the oldest; readable after Stop

	Clock Clock

	// Programs send the records of events with a Projection, and derived
	// events.
	Programs Programs

	// Tracefs is the root of tracefs. If set, the error for a filter that the
	// kernel refuses has the kernel's message.
	Tracefs string
	// Warn is called for each thread that has ended and each optional event
	// that is skipped; may be nil. Source.Warnings has the warnings too.
	Warn func(error)
	// Closed is called during Close with the number of closed descriptors and of all descriptors,
	// since the kernel may take a tenth of a second for each tracepoint; may be nil.
	Closed func(done, all uint64)
}

// DefaultPages is the size of a ring in pages of 4 KiB. It is the largest
// power of two that an ordinary user may map by default.
const DefaultPages = 128

// An EventConfig is one event to open on the whole target.
type EventConfig struct {
	Schema *event.Schema // Type and ID are attr.type and attr.config
	Label  string        // alias; the schema's full name if empty
	Filter string        // the kernel's filter language; empty passes all
	EventAttr

	// Period is the number of occurrences for each sample, Freq the number of
	// samples a second. If both are 0, events that count occurrences sample
	// each one, and clocks and cycles are sampled DefaultFreq times a second.
	Period, Freq uint64
	Exclude      Exclude
	Payload

	// Program is the descriptor of a program that decides for each sample
	// whether it is recorded, for events that are not tracepoints; 0 is none.
	Program int
	// Projection is set if a program sends the samples; nil if the kernel writes
	// them. Either all events or none must have one.
	Projection *sent.Projection

	CPUs     []int // only these of the target's CPUs; nil is all
	Optional bool  // if it does not open, warn and go on
	Quiet    bool  // no warning if it does not open; another component reports that
	// Pattern is the pattern that matched the event; "" if it was named. An
	// event of a pattern that the kernel opens for no user is left out with the
	// warning *LeftOut, if other events of the pattern open.
	Pattern string
}

// Tracepoint reports that the event is a tracepoint.
func (e *EventConfig) Tracepoint() bool { return e.Schema.Type == unix.PERF_TYPE_TRACEPOINT }

// EventAttr has the members of attr, in addition to config, that select an
// event: for breakpoints, probes and hardware events.
type EventAttr struct {
	Config1, Config2 uint64 // attr.config1 and config2
	// Config1Text is a text to which config1 points, if not empty: the file of
	// a uprobe, or the function of a kprobe.
	Config1Text string
	BPType      uint32 // attr.bp_type, for breakpoints
	// Precise is attr.precise_ip: it bounds the distance of the sample's
	// address from the instruction that caused the event; 0 is any distance.
	Precise uint8
	// Pinned is attr.pinned: the hardware counter is not shared with other events. If none is
	// free, the kernel stops the event.
	Pinned bool
	// Leader is the attr.config of an event of the same PMU that must be the
	// leader of the event's group; it is not sampled; 0 is none.
	Leader uint64
}

// Exclude leaves out occurrences in user code, in the kernel, in a hypervisor, on the host, in
// guests, or while the CPU is idle.
type Exclude struct{ User, Kernel, Hypervisor, Host, Guest, Idle bool }

// Payload selects the data in each sample of an event in addition to the sample
// members.
type Payload struct {
	// Observer is the descriptor of a program that is called for each sample, without an effect
	// on the sample. If it cannot be attached to an event, the event is opened without it. 0 is
	// none.
	Observer int
	// Branches has the CPU tell the last branches that it took (PERF_SAMPLE_BRANCH_STACK).
	Branches bool
	// NoRaw leaves out the tracepoint's record: Event.Raw stays empty.
	NoRaw bool
	// Callchain adds the stack to samples, without the excluded parts.
	Callchain                            bool
	ExcludeChainKernel, ExcludeChainUser bool
	MaxStack                             int    // addresses; 0 is the kernel's limit
	RegsUser                             uint64 // mask of user registers to sample
	RegsIntr                             uint64 // mask of registers at the event, user or kernel
	StackUser                            uint32 // bytes of user stack to sample
}

// DefaultFreq is the default sampling frequency in Hz.
const DefaultFreq = 4000

// SideBand selects the kinds of side records.
type SideBand struct {
	Comm, Mmap, Task, Cgroup, Ksymbol, BPF, TextPoke bool
	// MmapData includes mappings of data: perf finds the unwind tables of a file
	// by its lowest mapping.
	MmapData bool
	// Events says that side records are events of the run. Otherwise a loss in a ring with
	// only side records is not a loss of events; it is reported as event.LostAside.
	Events bool
}

func (s SideBand) any() bool { return s != SideBand{} }

// A Clock is the clock of the records' times.
type Clock uint8

const (
	ClockPerf         Clock = iota // perf's own clock, ns since about the boot
	ClockMonotonic                 // CLOCK_MONOTONIC
	ClockMonotonicRaw              // CLOCK_MONOTONIC_RAW
)

// A Tri is a choice that may be left to the default.
type Tri uint8

const (
	Default Tri = iota
	Yes
	No
)

// A Target selects the CPUs or tasks that are observed. At most one of PIDs,
// TIDs, Cgroups and Workload is set; without any, the CPUs are observed.
type Target struct {
	// CPUs are the observed CPUs; nil is all CPUs that are online.
	CPUs []int
	// PIDs are processes, with all their present and later threads.
	PIDs []int
	// TIDs are single threads.
	TIDs []int
	// Cgroups are names below the perf_event hierarchy, or patterns.
	Cgroups []string
	// Workload is a command that is started, held until all events are
	// attached, and observed.
	Workload *workload.Command
	// System says that the other members are observed, not the Workload, whose
	// end then only ends the run.
	System bool
	// Inherit says whether children are observed too. The default is yes for a
	// Workload, only threads for PIDs, and no for TIDs.
	Inherit Tri
}

// ByThread reports that threads are observed, not CPUs.
func (t *Target) ByThread() bool {
	return len(t.PIDs)+len(t.TIDs) > 0 || t.Workload != nil && !t.System
}

// NamedCommand is the entry in the result of Named for a Workload.
const NamedCommand = "a command"

// Named returns the options of the command line that select the observed tasks;
// nil if all CPUs are observed.
func (t *Target) Named() (ways []string) {
	for _, x := range []struct {
		given bool
		way   string
	}{
		{len(t.PIDs) > 0, "-p"}, {len(t.TIDs) > 0, "-t"},
		{len(t.Cgroups) > 0, "--cgroups"},
		{t.Workload != nil && !t.System, NamedCommand},
	} {
		if x.given {
			ways = append(ways, x.way)
		}
	}
	return ways
}

// CheckWhole returns an error unless whole CPUs are observed. The error names
// script, which needs that.
func (t *Target) CheckWhole(script string) error {
	ways := t.Named()
	if t.Inherit != Default {
		ways = append(ways, "--inherit")
	}
	if len(ways) == 0 {
		return nil
	}
	hint := "leave out " + ways[0] + "; -C LIST chooses CPUs"
	if t.Workload != nil && !t.System {
		hint = "add --system: the command then says how long"
	}
	return diag.Errorf(diag.Usage, "attach", script, "looks at CPUs, not at tasks, and got %s", ways[0]).
		WithHint("%s", hint)
}

// check finds mistakes before anything is opened, and sets defaults.
func (c *Config) check() error {
	if len(c.Events) == 0 && !c.SideBand.any() {
		return diag.Errorf(diag.Usage, "open", "events", "none given")
	}
	if c.Pages == 0 {
		c.Pages = DefaultPages
	}
	if c.Pages < 1 || bits.OnesCount(uint(c.Pages)) != 1 {
		lower := 1
		if c.Pages > 0 {
			lower = 1 << (bits.Len(uint(c.Pages)) - 1)
		}
		return diag.Errorf(diag.Usage, "ring", "pages", "got %d, want a power of two", c.Pages).
			WithHint("use -m %d or -m %d", lower, 2*lower)
	}
	if c.Pages > 1<<20 {
		return diag.Errorf(diag.Usage, "ring", "pages", "got %d (%s), want at most %d", c.Pages,
			unit.Size(int64(c.Pages)<<12), 1<<20).WithHint("use a smaller -m")
	}
	if c.Watermark == 0 {
		c.Watermark = 50
	}
	if c.Watermark < 1 || c.Watermark > 100 {
		return diag.Errorf(diag.Usage, "ring", "watermark", "got %d, want 1 to 100 percent", c.Watermark).
			WithHint("use --watermark 50")
	}
	kinds := 0
	for _, given := range []bool{len(c.Target.PIDs) > 0, len(c.Target.TIDs) > 0, len(c.Target.Cgroups) > 0,
		c.Target.Workload != nil && !c.Target.System} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return diag.Errorf(diag.Usage, "attach", "target",
			"got several of processes, threads, cgroups and a command").
			WithHint("give one of -p, -t, --cgroups and a command")
	}
	for i := range c.Events {
		if err := c.Events[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *EventConfig) check() error {
	if c.Schema == nil {
		panic("BUG: EventConfig without Schema")
	}
	if c.Period != 0 && c.Freq != 0 {
		return diag.Errorf(diag.Usage, "open event", c.name(), "got both a period and a frequency").
			WithHint("give either a period or a frequency")
	}
	if c.Period > 1<<63-1 {
		return diag.Errorf(diag.Usage, "open event", c.name(),
			"period: got %d, want less than 2^63", c.Period).
			WithHint("use a smaller period")
	}
	return nil
}

func (c *EventConfig) name() string {
	if c.Label != "" {
		return c.Label
	}
	return c.Schema.FullName()
}

// dataSize returns the size of a ring's data in bytes. A page in Pages has 4
// KiB on every machine; if the machine's page is larger, the ring has at least
// one of those.
func (c *Config) dataSize() int { return max(c.Pages<<12, os.Getpagesize()) }

// counts reports that the event counts occurrences, so that users expect one
// sample for each. Other events, such as clocks and cycles, count all the time.
func counts(s *event.Schema) bool {
	switch s.Type {
	case unix.PERF_TYPE_SOFTWARE:
		return s.ID != unix.PERF_COUNT_SW_CPU_CLOCK && s.ID != unix.PERF_COUNT_SW_TASK_CLOCK
	case unix.PERF_TYPE_HARDWARE, unix.PERF_TYPE_HW_CACHE, unix.PERF_TYPE_RAW:
		return false
	}
	return true
}
