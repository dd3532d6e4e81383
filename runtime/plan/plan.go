package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/memory"
)

// A Plan is what will run: what to open, and the operators behind it. It is a
// value that can be printed, and that nobody changes after Build: Instantiate
// makes what runs.
type Plan struct {
	// Events are the events to open, in the order of their streams' indices.
	Events []*Event
	// Operators are all parts that take their events, operators that make events
	// before operators that take them.
	Operators []Operator
	Needs
	placement.Placement
	// WholeCPUs names the source that is about CPUs, not about tasks; "" if none.
	WholeCPUs string

	// UnseenIdle says of which CPUs' idle tasks the plan takes events of perf that perf does not deliver, and
	// which these are; "" if it is not known of any.
	UnseenIdle string

	// Unverified are the events of which nothing is known here, each with the reason: a plan that is only
	// described leaves out what reads them.
	Unverified []string
	// Interpreted says which functions could not be compiled, and why.
	Interpreted []string

	first     Report // of what was asked for
	memory    *memory.Budget
	streams   []*event.Stream
	feeds     []*feed
	projected bool     // programs send the events
	mixed     bool     // some operator takes events of several roots
	functions []string // for Explain
	failing   []string // of these, the functions that can fail
}

// Needs is what the sources must deliver.
type Needs struct {
	// SampleMembers are the members of samples that somebody reads.
	SampleMembers []event.Member
	// Order says whether events must come in time order, and why.
	Order    bool
	OrderWhy string
	// Comm says that names of threads are needed.
	Comm bool
	// Cgroups says that it is asked whose the events are.
	Cgroups bool
	// HasStacks says that events are opened with their stacks, Mappings that
	// addresses of user code will have to be named.
	HasStacks bool
	Mappings  bool
	// Watch says that the plan tells by itself which threads it is about, and
	// is attached to CPUs.
	Watch bool
	// Overwrite says that full rings drop their oldest records, and are read
	// at the end only.
	Overwrite bool
}

// An Event is one event to open.
type Event struct {
	Stream *event.Stream
	Source *Source
	// Filter is what the kernel shall check.
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
	// NoRaw says that nobody reads the record itself.
	NoRaw bool
	// Stack is which of its stacks are wanted; nil for none.
	Stack *stack.Choice

	inner     bool // its samples are none of the run: a script among the sources takes them
	projected bool // programs send it
}

// WithoutKernel is the plan without programs that do its work, and says why.
func (p *Plan) WithoutKernel(why string) *Plan {
	own := *p
	own.Kernel, own.KernelNo = nil, why
	return &own
}
