package plan

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/probe"
)

// A Stream describes a flow of events. Streams are values: operators make new
// ones and change none.
type Stream interface {
	// Inputs lists the streams that this one reads.
	Inputs() []Stream
	// branches adds what makes its events, and returns them.
	branches(b *builder) ([]branch, error)
}

// Kind says which door a Source's events come through.
type Kind uint8

const (
	Tracepoint Kind = iota
	Software
	Hardware
	Cache
	RawPMU // an event of a PMU by number; Source.PMU says which
	Probe  // dynamic probes and breakpoints; Source.Probe says which
	// Script is a profiler's name in an event string, with its options as the
	// filter. Whoever reads the string makes a Profiler of it.
	Script
)

func (k Kind) String() string {
	return [...]string{"tracepoint", "software", "hardware", "cache", "pmu", "probe", "profiler"}[k]
}

// sampled reports that an event is one of the software or of the CPU, which has
// no record of its own.
func (k Kind) sampled() bool { return k >= Software && k <= RawPMU }

// A Source is one event to open, or several if Name is a glob. What only some
// kinds have is a type of its own: Probe, Memory, PMU.
type Source struct {
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
	// field: another variant of it is then there.
	Having string
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

// Exclude leaves out what happens in user code, in the kernel, on the host or
// in guests, and while a CPU is idle.
type Exclude struct{ User, Kernel, Host, Guest, Idle bool }

// An Attr is one attribute of an event string: key=pid.
type Attr struct{ Name, Value string }

// Attr returns the values of an attribute; '-' and '_' are the same.
func (s *Source) Attr(name string) []string {
	var vs []string
	for _, a := range s.Attrs {
		if a.Name == name {
			vs = append(vs, a.Value)
		}
	}
	return vs
}

// FullName is the event as users write it.
func (s *Source) FullName() string {
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
func (s *Source) SystemName() string {
	group, _, found := strings.Cut(s.FullName(), ":")
	if !found {
		return ""
	}
	return group
}

// Where keeps the events for which Pred holds.
type Where struct {
	In   Stream
	Pred Fn
}

// Let gives names to computed values.
type Let struct {
	In   Stream
	Vars []Var
}

// Merge brings the events of several streams together in time order.
type Merge struct{ In []Stream }

// Join relates events of successive stages.
type Join struct {
	Stages []Stream
	Key    *Fn // nil: the thread, or the CPU if nothing else is known
	Cycle  bool
	Limit  int
	// Nested relates entries and returns as calls do: each stage is a pair.
	Nested bool
	// Label names the pairs of a start and an end event; nil joins their
	// names with "=>".
	Label func(start, end string) string
}

// Counters reads the counters of its sources at a fixed period and makes an
// event of each difference.
type Counters struct {
	In []*Source
	// PeriodNS is the time between reads; 0 means the report interval.
	PeriodNS int64
	// PerInstance makes one event for each CPU or thread instead of sums.
	PerInstance bool
}

func (*Source) Inputs() []Stream   { return nil }
func (*Counters) Inputs() []Stream { return nil }
func (w *Where) Inputs() []Stream  { return []Stream{w.In} }
func (l *Let) Inputs() []Stream    { return []Stream{l.In} }
func (m *Merge) Inputs() []Stream  { return m.In }
func (j *Join) Inputs() []Stream   { return j.Stages }

// A Fn is a per-event function as the script gave it: text (a field name or a
// C expression) or a script function.
type Fn struct {
	Text string
	Call Callable
	// Const is a value that is the same for all events; Text says it for people.
	Const expr.Node
	Pos   string // where the script gives it, for errors
	shows bool   // it makes what people see of an event
}

// forPeople is f as what makes what people see of an event.
func (f Fn) forPeople() Fn {
	f.shows = true
	return f
}

// A Var is a named Fn: a key column, a let.
type Var struct {
	Name string
	Fn   Fn
}

// Callable is a function of the script that can run per event. Package script
// implements it; plan knows no Starlark.
type Callable interface {
	// Name is the function's name, or "lambda".
	Name() string
	// Pos is its file:line:col.
	Pos() string
	// Check reports fields that the function reads and none of the events
	// has that can arrive, before anything is opened.
	Check(events []*expr.Scope) error
	// Lower translates it for one kind of event; the error says why it
	// cannot be, and it then stays interpreted.
	Lower(sc *expr.Scope, want expr.Kind) (expr.Node, error)
	// Call evaluates it on one event: the slow, interpreted engine.
	Call(e *event.Event) (event.Value, error)
}
