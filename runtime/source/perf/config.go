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

// A Config says which events to open, where, and how big the rings are.
// The zero value of every member but Events works.
type Config struct {
	Events []EventConfig
	Target Target

	// Members are the sample members that somebody will read; the kernel is asked for
	// no others, since every one costs the traced program time. Nil means
	// time, pid, tid and cpu. Time is always asked for if there is SideBand.
	Members []event.Member
	// SampleCPU asks for the CPU in each record even where the ring tells it,
	// as a recording needs.
	SampleCPU bool
	// SideBand opens a dummy event beside the others for records about tasks.
	SideBand SideBand

	Pages     int // of 4 KiB in each ring, a power of two; 0 is DefaultPages
	Watermark int // percent of a ring that wakes Poll; 0 is 50
	// Prompt wakes Poll for every record. It is for records about things
	// that change soon, such as the memory of the process, and have to be
	// looked at before.
	Prompt bool
	// Spool bounds the memory, in bytes, into which full rings are emptied
	// while nobody polls; 0 is none. It is for callers that may be busy for
	// longer than the rings last.
	Spool     int
	Overwrite bool // keep the newest records instead of the oldest; read after Stop

	Clock Clock

	// Programs send the records of projected events, and pairs of them.
	Programs Programs

	// Tracefs is the root of tracefs. With it, the error about a filter that
	// the kernel refuses carries the kernel's words.
	Tracefs string
	// Warn is called for everything that is skipped: threads that are gone,
	// optional events. Nil drops the warnings; Source.Warnings has them
	// too.
	Warn func(error)
	// Closed is told how many events of all were closed, each on each of its CPUs and tasks: the kernel
	// may take a tenth of a second for each tracepoint. Nil tells nobody.
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

	// Period samples every so many occurrences, Freq so many times a second.
	// With neither, events that count occurrences sample each, and clocks
	// and cycles DefaultFreq times a second.
	Period, Freq uint64
	Exclude      Exclude
	Payload

	// Program is the descriptor of a program that decides about each sample
	// of an event that is no tracepoint; 0 is none.
	Program int
	// Projection says that a program sends the samples; nil is the kernel itself.
	// Then all events must be such.
	Projection *sent.Projection

	CPUs     []int // only these of the target's CPUs; nil is all
	Optional bool  // if it does not open, warn and go on
	Quiet    bool  // somebody else tells that it does not open
	// Pattern is the pattern that matched the event; "" if it was named. An
	// event of a pattern that the kernel opens for nobody is left out with a
	// *LeftOut, as long as others of the pattern open.
	Pattern string
}

// Tracepoint reports that it is one, not a sampled event or a probe.
func (e *EventConfig) Tracepoint() bool { return e.Schema.Type == unix.PERF_TYPE_TRACEPOINT }

// EventAttr says which event of its type it is, beside attr.config, as
// breakpoints, probes and hardware events need it.
type EventAttr struct {
	Config1, Config2 uint64 // attr.config1 and config2
	// Config1Text is a text for config1 to point to, in place of its
	// number: the file of a uprobe, the function of a kprobe.
	Config1Text string
	BPType      uint32 // of breakpoints: attr.bp_type
	// Precise is attr.precise_ip: how near the sample has to be to the
	// instruction that it is about; 0 is anywhere behind it.
	Precise uint8
	// Pinned is attr.pinned: a counter that has no place beside others ends, and is not shared.
	Pinned bool
	// Leader is the attr.config of an event of the same PMU that has to lead
	// the event's group, and is not sampled; 0 is none.
	Leader uint64
}

// Exclude leaves out what happens in user code, in the kernel, in a hypervisor, on the host, in
// guests, or while the CPU has nothing to do.
type Exclude struct{ User, Kernel, Hypervisor, Host, Guest, Idle bool }

// Payload says what each sample of an event brings beside the sample members.
type Payload struct {
	// Observer is the descriptor of a program that is called for each sample and decides nothing;
	// an event that it cannot be attached to goes without. 0 is none.
	Observer int
	// Branches has the CPU tell the last branches that it took (PERF_SAMPLE_BRANCH_STACK).
	Branches bool
	// NoRaw leaves out the tracepoint's record: Event.Raw stays empty.
	NoRaw bool
	// Callchain asks for the stack, without the parts that are excluded.
	Callchain                            bool
	ExcludeChainKernel, ExcludeChainUser bool
	MaxStack                             int    // addresses; 0 is the kernel's limit
	RegsUser                             uint64 // mask of user registers to sample
	RegsIntr                             uint64 // mask of registers at the event, user or kernel
	StackUser                            uint32 // bytes of user stack to sample
}

// DefaultFreq is the sampling frequency in Hz where none is given.
const DefaultFreq = 4000

// SideBand chooses the records about tasks.
type SideBand struct {
	Comm, Mmap, Task, Cgroup, Ksymbol, BPF, TextPoke bool
	// MmapData asks for mappings of data, too: perf finds the unwind tables of a
	// file by its lowest mapping.
	MmapData bool
	// Events says that the records are events of the run. Else a ring that has nothing but
	// them loses no events: it says event.LostAside.
	Events bool
}

func (s SideBand) any() bool { return s != SideBand{} }

// A Clock stamps the records.
type Clock uint8

const (
	ClockPerf         Clock = iota // perf's own, near boot time
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

// A Target says which CPUs or tasks are observed. Of PIDs, TIDs, Cgroups and
// Workload at most one kind is given; with none it is the CPUs.
type Target struct {
	// CPUs restricts to these; nil is all that are online.
	CPUs []int
	// PIDs are processes: all their threads, now and later.
	PIDs []int
	// TIDs are exactly those threads.
	TIDs []int
	// Cgroups are names below the perf_event hierarchy, or patterns.
	Cgroups []string
	// Workload is started, held until all is attached, and observed.
	Workload *workload.Command
	// System observes the others, or the CPUs, although there is a Workload,
	// which only says how long.
	System bool
	// Inherit follows children: processes of a Workload (default yes), of
	// PIDs (default only threads) and TIDs (default no).
	Inherit Tri
}

// ByThread reports that threads are observed, not CPUs.
func (t *Target) ByThread() bool {
	return len(t.PIDs)+len(t.TIDs) > 0 || t.Workload != nil && !t.System
}

// NamedCommand is the name that Named has for a Workload.
const NamedCommand = "a command"

// Named is how the command line names the tasks that are observed, in each of
// the ways that it did; nil if all of the CPUs are.
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

// CheckWhole is an error unless all that CPUs do is observed. The error names
// script, which is about CPUs.
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

// check finds mistakes before anything is opened, and fills defaults.
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

// dataSize is the size of a ring's data in bytes. Pages count as 4 KiB on
// every machine; a larger page size of the machine can only round the ring
// up.
func (c *Config) dataSize() int { return max(c.Pages<<12, os.Getpagesize()) }

// counts reports that the event counts occurrences, so that a user expects
// one sample for each; the others tick all the time.
func counts(s *event.Schema) bool {
	switch s.Type {
	case unix.PERF_TYPE_SOFTWARE:
		return s.ID != unix.PERF_COUNT_SW_CPU_CLOCK && s.ID != unix.PERF_COUNT_SW_TASK_CLOCK
	case unix.PERF_TYPE_HARDWARE, unix.PERF_TYPE_HW_CACHE, unix.PERF_TYPE_RAW:
		return false
	}
	return true
}
