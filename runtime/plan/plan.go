package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/memory"
)

// A Plan has the events to open and the operators behind them. It can be
// printed, and does not change after Build; Instantiate makes its operators
// run.
type Plan struct {
	// Events are the events to open, in the order of their streams' indices.
	Events []*Event
	// Operators lists all operators; an operator that makes events comes before
	// the operators that take them.
	Operators []Operator
	Needs
	placement.Placement
	// WholeCPUs names a source that observes CPUs, not tasks; "" if none.
	WholeCPUs string

	// UnseenIdle names events that the plan takes from perf, and idle CPUs for which perf does not
	// deliver them; "" if none are known.
	UnseenIdle string

	// Unverified are the events that the catalog does not know, each with the reason. A plan that
	// is only described leaves out their readers.
	Unverified []string
	// Interpreted lists the functions that could not be compiled, each with the
	// reason.
	Interpreted []string

	first     Report // of the reports that were asked for
	memory    *memory.Budget
	streams   []*event.Stream
	feeds     []*feed
	projected bool     // programs send the events
	mixed     bool     // some operator takes events of several roots
	functions []string // for Explain
	failing   []string // of the functions, those that can fail
}

// Needs is what the sources must deliver.
type Needs struct {
	// SampleMembers are the sample members that some operator or function
	// reads.
	SampleMembers []event.Member
	// Order says whether events must come in time order, and why.
	Order    bool
	OrderWhy string
	// Comm says that names of threads are needed.
	Comm bool
	// Cgroups says that the container, pod or unit of events is read.
	Cgroups bool
	// HasStacks says that events are opened with their stacks, Mappings that
	// addresses in user code will be looked up by name.
	HasStacks bool
	Mappings  bool
	// Watch says that the plan chooses the threads that it observes by itself,
	// and attaches to CPUs.
	Watch bool
	// Overwrite says that full rings drop their oldest records, and are read
	// at the end only.
	Overwrite bool
}

// An Event is one event to open.
type Event struct {
	Stream *event.Stream
	Source *Source
	// Filter is the condition that the kernel checks.
	Filter string
	// Native is the part of the filter that the kernel cannot check, or all
	// of it in a recording; nil if there is none.
	Native     *expr.Program
	NativeText string
	// SampleFilter is a program that decides about each sample in the kernel; nil if
	// there is none.
	SampleFilter     *bpf.Image
	SampleFilterText string
	// Projection says what a program sends of the event.
	Projection string
	// NoRaw says that the raw record is not read.
	NoRaw bool
	// Stack says which parts of the call stack are wanted; nil for none.
	Stack *stack.Choice

	inner     bool // its samples do not count as the run's: a profiler's script takes them
	projected bool // programs send it
}

// WithoutKernel is the plan without programs that do its work, and says why.
func (p *Plan) WithoutKernel(why string) *Plan {
	own := *p
	own.Kernel, own.KernelNo = nil, why
	return &own
}
