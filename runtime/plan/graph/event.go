package graph

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Place says where a part of a plan runs.
type Place uint8

const (
	InKernel    Place = iota // in programs of the kernel; for an event: they send its records
	ByPerf                   // for an event: perf samples it, and sends whole records
	Recorded                 // for an event: it is read from a recording
	Elsewhere                // for an event: a profiler or another machine sends it
	Native                   // in ppscript, compiled
	Interpreted              // in ppscript, by Starlark's interpreter
)

func (p Place) String() string {
	return [...]string{"kernel", "perf", "recording", "elsewhere", "native", "interpreted"}[p]
}

// An Event is an event to open: a tracepoint, a probe, or a sampled event of perf, such as a
// clock. A sampled event is opened on the target, and perf calls the event's program for each
// sample.
type Event struct {
	Stream  int // index of its stream in the plan
	Schema  *event.Schema
	Sampled bool
	Probe   *Probe // nil if it is none
	Label   string
	Filter  expr.Node  // nil passes all
	CPUs    []int      // nil: all CPUs of the target
	Period  uint64     // take one of Period occurrences, on each CPU; 0 and 1 take all
	Stack   *StackSpec // nil if nobody asks for it

	// Err says why its filter is not known to programs; they cannot take it then.
	Err error
	// ExcludedReason says why no program takes its occurrences; "" if one can.
	ExcludedReason string
	// From is where its records come from if no program takes it.
	From Place
	// Decides says that a program may accept or reject each of its samples, as it can for
	// software and hardware events.
	Decides bool
	// NoIdle says that it leaves out what happens in idle tasks.
	NoIdle bool
}

// Known reports that programs can be attached to the event.
func (e *Event) Known() bool { return e.Err == nil }

// OfProbe reports that the event is a probe: programs read what its record would have,
// field by field.
func (e *Event) OfProbe() bool { return e.Known() && e.Probe != nil }

// A Probe says that an event is a probe: in a program or in the kernel, at a return
// or not.
type Probe struct{ User, Return bool }

// A StackSpec says which part of an event's stack is wanted.
type StackSpec struct {
	Kernel, User bool
	Max          int  // addresses
	Tables       bool // user code is walked by its unwind tables
}
