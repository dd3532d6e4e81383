package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/agg"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/join"
	"ppscript/runtime/result"
)

// A Plan is what will run: what to open, and the operators behind it.
type Plan struct {
	// Events are the events to open, in the order of their streams' indices.
	Events []*Event
	// Counts are the events to open as counters, not samples.
	Counts []*CounterSet
	// Records are the streams of what the kernel tells of itself.
	Records []*RecordSet
	// Router is the head of the operators: it takes what the source delivers.
	Router *flow.Router
	Tables []*Table
	Logs   []*LogRun
	Eachs  []*EachRun
	Heats  []*HeatRun
	// Databases keep events as rows.
	Databases []*DatabaseRun
	// Texts are answers that need no events.
	Texts  []string
	Busy   []*Busy
	Execs  []*ExecRun
	Pushes []*PushRun
	Joins  []*JoinRun
	Folds  []*FoldRun
	Slows  []*SlowRun
	Stacks []*StacksRun
	// Triggers end intervals.
	Triggers []*TriggerRun

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

// A CounterSet is the counters of one Counters stream.
type CounterSet struct {
	Spec    *Counters
	Schemas []*event.Schema
	Sources []*Source
	Stream  *event.Stream // of the events made from reads
	Sink    flow.Sink
}

// A Table is a Group that runs, with what its results look like.
type Table struct {
	Name    string
	Spec    *Group
	Group   *agg.Group
	Columns []result.Column
	// Tree is the tree of calls that the rows are nodes of; nil if none.
	Tree *join.Tree
	// Hist is the index of the aggregator that is a histogram, else -1.
	Hist int
	spec agg.Spec
}

// A LogRun is a log that runs. Session sets Emit before events flow.
type LogRun struct {
	Name string
	Spec *Log
	Emit func(e *event.Event)
	// EmitAs is Emit for a log that has a heading: text, and the events that
	// belong to it, nil for none.
	EmitAs func(e *event.Event, heading string, parts [2]*event.Event)
	// Exec runs the exec attribute of each event, behind its line.
	Exec *ExecRun
	// Result is the value behind each line; nil for none.
	Result *ResultRun
	shown  *shown // nil: the events as they are
}

// Events implements flow.Sink.
func (l *LogRun) Events(evs []*event.Event) {
	for i, e := range evs {
		if l.shown == nil {
			l.Emit(e)
		} else if e, heading, parts := l.shown.of(e); l.Spec.Heading == nil {
			l.Emit(e)
		} else {
			l.EmitAs(e, heading, parts)
		}
		if l.Exec != nil {
			l.Exec.Events(evs[i : i+1])
		}
		if l.Result != nil {
			l.Result.show(e)
		}
	}
}

// Text is what text shows in place of the fields of the event that Emit got
// last; "" shows the fields.
func (l *LogRun) Text() string {
	if l.shown == nil {
		return ""
	}
	return l.shown.line
}

// Lost implements flow.Sink: the session reports losses, once for all.
func (l *LogRun) Lost(int32, uint64, event.Time) {}

// An EachRun calls a script function for every event.
type EachRun struct {
	Spec *Each
	Errs flow.Errors
	// Stop is called with the first error: a script's function that fails is
	// a failure of the script.
	Stop func(error)
}

// Events implements flow.Sink.
func (x *EachRun) Events(evs []*event.Event) {
	if x.Spec.Batch != nil {
		x.batch(evs)
		return
	}
	for _, e := range evs {
		if x.Errs.N > 0 {
			return
		}
		if _, err := x.Spec.Fn.Call(e); err != nil {
			x.Errs.N++
			x.Errs.First = err
			if x.Stop != nil {
				x.Stop(err)
			}
		}
	}
}

func (x *EachRun) batch(evs []*event.Event) {
	if x.Errs.N > 0 {
		return
	}
	if err := x.Spec.Batch.CallBatch(evs); err != nil {
		x.Errs.N++
		x.Errs.First = err
		if x.Stop != nil {
			x.Stop(err)
		}
	}
}

// Lost implements flow.Sink.
func (x *EachRun) Lost(int32, uint64, event.Time) {}

// A JoinRun is a join that runs.
type JoinRun struct {
	joiner
	Spec  *Join
	Key   string   // what relates the events, for people
	Names []string // of the pairs
	// Notes say what else the join does, for Explain.
	Notes []string
	name  string
	kept  int // bytes of a waiting event's record; negative is all
}

// A joiner is what does the work of a join: a join.Join, or a join.Nested if the
// pairs nest.
type joiner interface {
	flow.Sink
	// Stats tells what became of the events.
	Stats() join.Stats
	// Loss is what the pairs since the last call do not contain.
	Loss() event.Loss
	// Failures are the evaluations that failed, which Loss counts too.
	Failures() *flow.Errors
	// End hands out what waits, at the end of an interval or of the run.
	End(final bool, now event.Time)
	// Forgets reports that the join wants to know of threads of this machine
	// that begin and end.
	Forgets() bool
	Ended(tid int32, at event.Time)
	Began(tid int32)
}

// Streams lists all streams, by index: of the events to open and of those that
// operators make.
func (p *Plan) Streams() []*event.Stream { return p.streams }
