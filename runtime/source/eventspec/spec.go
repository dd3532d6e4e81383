// Package eventspec is events as scripts name them: which events, how often they
// are sampled, and what becomes of those that do not exist here. It finds and opens
// none.
package eventspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/source/probe"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/text/unit"
)

// Kind says which door an event comes through.
type Kind uint8

const (
	Tracepoint Kind = iota
	Software
	Hardware
	Cache
	RawPMU // an event of a PMU by number; Spec.PMU says which
	Probe  // dynamic probes and breakpoints; Spec.Probe says which
	// Script is a profiler's name in an event string, with its options as the
	// filter. The reader of the string makes a Profiler of it.
	Script
	// Tool is what ppscript itself measures of the command, by perf's names: it is counted only.
	Tool
)

func (k Kind) String() string {
	return [...]string{"tracepoint", "software", "hardware", "cache", "pmu", "probe", "profiler", "tool"}[k]
}

// ToolNames are the events of kind Tool, all in ns: from the start of the command to its end, and its
// time in user code and in the kernel.
var ToolNames = []string{"duration_time", "user_time", "system_time"}

// Sampled reports that an event is one of the software or of the CPU, which has
// no record of its own.
func (k Kind) Sampled() bool { return k >= Software && k <= RawPMU }

// A Spec is one event to open, or several if Name is a glob. What only some
// kinds have is a type of its own: Probe, Memory, PMU.
type Spec struct {
	Kind   Kind
	System string // tracepoints
	Name   string // may hold * ? [ for tracepoints
	// Filter is in the kernel's filter language. What a kernel cannot do
	// with it, and recordings, is done natively.
	Filter string
	// Attrs are the attributes of an event string, in order; the operators
	// of the script read them.
	Attrs []Attr
	Alias string
	// CPUs restricts the event to some of the session's CPUs; nil is all.
	CPUs []int
	Sampling
	Absence

	// Probe is where a dynamic probe or breakpoint sits; nil for others.
	Probe *probe.Spec
	// Memory is what memory accesses to sample; nil for other events.
	Memory *Memory
	// PMU is the event of a PMU; nil for others.
	PMU *PMU
	Pos string // file:line:col of the script, or the event string
}

// Sampling says which occurrences of an event make samples, and with which stack.
type Sampling struct {
	Period   uint64 // sample every so many events; 0 is every one
	Freq     uint64 // or so many times a second
	Stack    bool
	MaxStack int
	// Exclude leaves out what happens in some places.
	Exclude Exclude
	// Precise is how near the sample has to be to the instruction that it is about, 0 to 3, as
	// attr.precise_ip.
	Precise uint8
	// Pinned keeps a counter of the CPU on it: it is not shared with others.
	Pinned bool
}

// Absence says what becomes of a source whose event does not exist.
type Absence struct {
	// OrElse is the event to take where Name does not exist: for one of the
	// hardware a software event, for a tracepoint another, system:name.
	OrElse string
	// OrElseOf is the event that OrElse stands for where Name is a pattern,
	// which may find others; system:name.
	OrElseOf string
	// Having leaves the source out, without a note, where it has no such
	// field, or has it if a ! is before the name: another variant of it is then there.
	Having string
	// Beside leaves the source out, with a note, where this event, system:name, does not exist, or where
	// perf takes events, by samples, and cannot sample it: what begins with the one would never end.
	Beside string
	// Optional leaves the source out, with a note, where it does not exist; Quiet says that
	// somebody else tells of it.
	Optional, Quiet bool
}

// A PMU event is a device of /sys/bus/event_source and its attr.config,
// config1 and config2.
type PMU struct {
	Device string
	Config [3]uint64
	// Terms, in place of Config, are names that the device has in sysfs:
	// cas_count_read, or event=0x3c,umask=1. Device may be a pattern then.
	Terms string
}

// Memory is accesses to memory, whatever the event is called that samples them
// on a machine.
type Memory struct {
	Op     string // loads or stores
	Cycles uint64 // loads that took less are left out where the CPU can
}

// Exclude leaves out what happens in user code, in the kernel, in a hypervisor, on the host or
// in guests, and while a CPU is idle.
type Exclude struct{ User, Kernel, Hypervisor, Host, Guest, Idle bool }

// RecordedFilter is the condition on samples of a recording for Exclude, which only the kernel that
// recorded them could leave out: their cpumode, as of perf_event.h. It is empty if nothing is left out.
func (x Exclude) RecordedFilter() string {
	var out []string
	for _, one := range []struct {
		left  bool
		modes []int
	}{{x.User, []int{2, 5}}, {x.Kernel, []int{1, 4}}, {x.Hypervisor, []int{3}}, {x.Host, []int{1, 2}},
		{x.Guest, []int{4, 5}}} {
		for _, mode := range one.modes {
			if one.left {
				out = append(out, fmt.Sprintf("cpumode != %d", mode))
			}
		}
	}
	return strings.Join(out, " && ")
}

// An Attr is one attribute of an event string: key=pid.
type Attr struct{ Name, Value string }

// Attr returns the values of an attribute; '-' and '_' are the same.
func (s *Spec) Attr(name string) []string {
	var vs []string
	for _, a := range s.Attrs {
		if a.Name == name {
			vs = append(vs, a.Value)
		}
	}
	return vs
}

// FullName is the event as users write it.
func (s *Spec) FullName() string {
	if s.Kind == Tracepoint {
		return s.System + ":" + s.Name
	}
	if s.Probe != nil {
		return s.Probe.String()
	}
	if s.Kind == Script {
		return s.Name
	}
	if s.Kind == Hardware && s.OrElse != "" {
		return "sample"
	}
	return s.Kind.String() + ":" + s.Name
}

// SystemName is what stands before the colon of FullName; "" if nothing does.
func (s *Spec) SystemName() string {
	group, _, found := strings.Cut(s.FullName(), ":")
	if !found {
		return ""
	}
	return group
}

// Often says which of its events a source samples; "" is every one.
func (s *Spec) Often() string {
	clock := s.Kind == Software && (s.Name == "cpu-clock" || s.Name == "task-clock")
	switch {
	case s.Freq > 0:
		return fmt.Sprintf("%d times a second", s.Freq)
	case clock && s.Period > 0:
		return "every " + unit.Duration(int64(s.Period))
	case s.Period > 1:
		return fmt.Sprintf("one of %d", s.Period)
	}
	return ""
}

// Dynamic reports that an event is a probe that the kernel plants: in its own code or
// in that of a program.
func (s *Spec) Dynamic() bool { return s.Probe != nil && s.Probe.Kind != probe.Breakpoint }

// FilterText is the filter with the event's own condition: the
// memory and files of a process are meant for that process only.
func (s *Spec) FilterText() string {
	if s.Probe == nil || s.Probe.PID == 0 {
		return s.Filter
	}
	own := "_pid == " + strconv.Itoa(s.Probe.PID)
	if s.Filter == "" {
		return own
	}
	return own + " && (" + s.Filter + ")"
}

// Pull is where the events of an event come from, in place of the kernel that
// runs here; none is this kernel.
func (s *Spec) Pull() []string { return relay.Addresses(s.Attr("pull")) }

// Push lists the addresses that the events of an event are sent to.
func (s *Spec) Push() []string { return relay.Addresses(s.Attr("push")) }

// Pulled reports that the events of an event come from elsewhere.
func (s *Spec) Pulled() bool { return len(s.Attr("pull")) > 0 }

// Takes reports that a variant of the event, which has some fields, is one that Having wants.
func (a *Absence) Takes(fields []string) bool {
	field, without := strings.CutPrefix(a.Having, "!")
	return a.Having == "" || slices.Contains(fields, field) != without
}
