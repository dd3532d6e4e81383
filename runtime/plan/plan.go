package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
)

// A Plan is what will run: what to open, and the operators behind it.
type Plan struct {
	// Events are the events to open, in the order of their streams' indices.
	Events []*Event
	// Router is the head of the operators: it takes what the source delivers.
	Router *flow.Router
	// Operators are all parts that run behind it, those that others read of
	// before these.
	Operators []Operator
	first     Report // of what was asked for

	// Facts are the members of samples that somebody reads.
	Facts []event.Fact
	// Order says whether events must come in time order, and why.
	Order    bool
	OrderWhy string
	// Comm says that names of threads are needed.
	Comm bool
	// HasStacks says that events are opened with their stacks, Mappings that
	// addresses of user code will have to be named.
	HasStacks bool
	Mappings  bool
	// Watch says that the plan tells by itself which threads it is about, and
	// is attached to CPUs.
	Watch bool
	// WholeCPUs names the source that is about CPUs, not about tasks; "" if none.
	WholeCPUs string
	// Overwrite says that full rings drop their oldest records, and are read
	// at the end only.
	Overwrite bool

	// Kernel is the plan as programs of the kernel; nil if it runs here only,
	// and KernelNo then says why, if somebody asked.
	Kernel   *Kernel
	KernelNo string
	// Compact is the programs that send the events; nil if the kernel itself
	// does, and CompactNo then may say why.
	Compact   *Compaction
	CompactNo string
	// OnlyKernel says that Kernel reads what ppscript cannot.
	OnlyKernel bool

	// Interpreted says which functions could not be compiled, and why.
	Interpreted []string

	others    []*flow.Others
	streams   []*event.Stream
	functions []string // for Explain
	failures  []failures
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
	// Sieve is a program that decides about each sample in the kernel; nil if
	// there is none.
	Sieve     *bpf.Image
	SieveText string
	// Sent says what a program sends of the event.
	Sent string
	// NoRaw says that nobody reads the record itself.
	NoRaw bool
	// Stack is which of its stacks are wanted; nil for none.
	Stack *StackSpec
}

// End ends an interval or the run. now is the time on the clock of the events, 0
// if nobody knows.
func (p *Plan) End(final bool, now event.Time) {
	for _, op := range p.Operators {
		op.End(final, p.Router.Last, now)
	}
}

// Loss is what was lost in operators since the last call, beside what results
// tell of themselves.
func (p *Plan) Loss() event.Loss {
	var all event.Loss
	for _, op := range p.Operators {
		all.Add(op.Loss())
	}
	return all
}

// Streams lists all streams, by index: of the events to open and of those that
// operators make.
func (p *Plan) Streams() []*event.Stream { return p.streams }
