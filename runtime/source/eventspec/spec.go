// Package eventspec describes events as scripts name them: which events, how often
// they are sampled, and what happens if they do not exist on this machine. It does
// not find or open events.
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

// Kind is the facility of the kernel that delivers an event.
type Kind uint8

const (
	Tracepoint Kind = iota
	Software
	Hardware
	Cache
	RawPMU // an event of a PMU by number; Spec.PMU says which
	Probe  // dynamic probes and breakpoints; Spec.Probe says which
	// Script is the name of a profiler in an event string; Filter has its
	// options. The caller of eventstring.Parse makes a source from the
	// profiler.
	Script
	// Tool is a value that ppscript itself measures of the observed command, by perf's names. It
	// can only be counted, not sampled.
	Tool
)

func (k Kind) String() string {
	return [...]string{"tracepoint", "software", "hardware", "cache", "pmu", "probe", "profiler", "tool"}[k]
}

// ToolNames are the events of kind Tool, all in ns: the time from the command's start to its end,
// and its CPU time in user code and in the kernel.
var ToolNames = []string{"duration_time", "user_time", "system_time"}

// Sampled reports that an event is counted by the kernel's software or by a
// PMU: it has no fields of its own, only sample members.
func (k Kind) Sampled() bool { return k >= Software && k <= RawPMU }

// A Spec is one event to open, or several if Name is a glob. Members of only
// some kinds have types of their own: Probe, Memory, PMU.
type Spec struct {
	Kind   Kind
	System string // tracepoints
	Name   string // may have * ? [ for tracepoints
	// Filter is in the kernel's filter language. ppscript itself evaluates the
	// parts that the kernel cannot, and the filters of recordings.
	Filter string
	// Attrs are the attributes of an event string, in order; the operators
	// of the script read them.
	Attrs []Attr
	Alias string
	// CPUs restricts the event to some of the session's CPUs; nil is all.
	CPUs []int
	Sampling
	Absence

	// Probe is the place of a dynamic probe or breakpoint; nil for other
	// events.
	Probe *probe.Spec
	// Memory selects the memory accesses to sample; nil for other events.
	Memory *Memory
	// PMU is the event of a PMU; nil for others.
	PMU *PMU
	Pos string // file:line:col of the script, or the event string
}

// Sampling selects the occurrences of an event that make samples, and their
// stacks.
type Sampling struct {
	Period   uint64 // sample every so many events; 0 is every one
	Freq     uint64 // or so many times a second
	Stack    bool
	MaxStack int
	// Exclude leaves out occurrences in some contexts, such as user code.
	Exclude Exclude
	// Precise bounds the distance of the sample's address from the instruction that caused the
	// event: 0 to 3, the value of attr.precise_ip.
	Precise uint8
	// Pinned keeps the event on its hardware counter all the time; it is not
	// multiplexed with others.
	Pinned bool
}

// Absence says what happens to a source whose event does not exist.
type Absence struct {
	// OrElse is the event that replaces a missing one: a software event for an
	// event of the hardware, another tracepoint (system:name) for a tracepoint.
	OrElse string
	// OrElseOf is the event, system:name, that OrElse replaces if Name is a
	// pattern; the pattern may match other events as well.
	OrElseOf string
	// Having names a field. The source is left out, without a note, if its event does
	// not have the field; or, with ! before the name, if it has the field. A script
	// uses it for two variants of an event of which only one exists.
	Having string
	// Beside names another event, system:name. The source is left out, with a note, if that event
	// does not exist, or if events are read by sampling and that event cannot be sampled: an
	// activity that begins with one event would never end.
	Beside string
	// Optional leaves the source out if it does not exist. The user gets a note, unless
	// Quiet says that a note comes from elsewhere.
	Optional, Quiet bool
}

// A PMU is an event of a performance monitoring unit: a device of
// /sys/bus/event_source and attr.config, config1 and config2.
type PMU struct {
	Device string
	Config [3]uint64
	// Terms replaces Config by names that the device has in sysfs:
	// cas_count_read, or event=0x3c,umask=1. Device may then be a pattern.
	Terms string
}

// Memory selects accesses to memory, independent of the name of the machine's
// event that samples them.
type Memory struct {
	Op     string // loads or stores
	Cycles uint64 // loads that took fewer are left out, if the CPU can do that
}

// Exclude leaves out occurrences in user code, in the kernel, in a hypervisor, on the host or
// in guests, and while a CPU is idle.
type Exclude struct{ User, Kernel, Hypervisor, Host, Guest, Idle bool }

// RecordedFilter is the filter that applies Exclude to the samples of a recording, by their cpumode
// (perf_event.h). It is empty if nothing is left out.
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

// FullName returns the event as users write it.
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

// SystemName returns the text before the colon of FullName; "" without a colon.
func (s *Spec) SystemName() string {
	group, _, found := strings.Cut(s.FullName(), ":")
	if !found {
		return ""
	}
	return group
}

// Often describes which occurrences of the event are sampled; "" means every
// one.
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

// Dynamic reports that an event is a probe that the kernel inserts in its own code or
// in a program's code.
func (s *Spec) Dynamic() bool { return s.Probe != nil && s.Probe.Kind != probe.Breakpoint }

// FilterText returns Filter, with a condition on the process if the probe is
// for one process.
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

// Pull lists the addresses from which the events are received. Without any,
// they come from this machine's kernel.
func (s *Spec) Pull() []string { return relay.Addresses(s.Attr("pull")) }

// Push lists the addresses to which the events are sent.
func (s *Spec) Push() []string { return relay.Addresses(s.Attr("push")) }

// Pulled reports that the events are received from other addresses.
func (s *Spec) Pulled() bool { return len(s.Attr("pull")) > 0 }

// Takes reports that a variant of the event with these fields satisfies Having.
func (a *Absence) Takes(fields []string) bool {
	field, without := strings.CutPrefix(a.Having, "!")
	return a.Having == "" || slices.Contains(fields, field) != without
}
