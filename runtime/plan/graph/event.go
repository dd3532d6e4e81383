package graph

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Place says where a part of a plan runs.
type Place uint8

const (
	InKernel    Place = iota // in programs; of an event: they send its records
	ByPerf                   // of an event: perf samples it, and sends whole records
	Recorded                 // of an event: it is read of a recording
	Elsewhere                // of an event: a profiler or another machine sends it
	Native                   // in ppscript, compiled
	Interpreted              // in ppscript, by Starlark's interpreter
)

func (p Place) String() string {
	return [...]string{"kernel", "perf", "recording", "elsewhere", "native", "interpreted"}[p]
}

// An Event is one to open: a tracepoint, a probe, or an event of perf that is sampled. The last
// is opened by perf, on the target, and calls the program of the event.
type Event struct {
	Stream  int // index of its stream in the plan
	Schema  *event.Schema
	Sampled bool
	Probe   *Probe // nil if it is none
	Label   string
	Filter  expr.Node  // nil passes all
	CPUs    []int      // nil is all of the target's
	Period  uint64     // one of so many, on each CPU; 0 and 1 are all
	Stack   *StackSpec // nil if nobody asks for it

	// Err says why its filter is not known to programs; they cannot take it then.
	Err error
	// ExcludedReason says why no program takes its occurrences; "" if one can.
	ExcludedReason string
	// From is where its records come from if no program takes it.
	From Place
	// Decides says that a program may decide about each of its samples: the software or the
	// CPU samples it.
	Decides bool
	// NoIdle says that it leaves out what happens in idle tasks.
	NoIdle bool
}

// Known reports that programs know the event.
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
