package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/source/eventspec"
)

// A Stream describes a flow of events. Streams are values: operators make new
// ones and change none.
type Stream interface {
	// Inputs lists the streams that this one reads.
	Inputs() []Stream
	// branches adds what makes its events, and returns them.
	branches(b *builder) ([]branch, error)
}

// A Source is one event to open, or several if its name is a glob.
type Source struct{ eventspec.Spec }

// Where keeps the events for which Pred holds.
type Where struct {
	In   Stream
	Pred Fn
}

// Let gives names to computed values.
type Let struct {
	In   Stream
	Vars []Var
	// Whose says that the values are what spans of one kind have as others do, such as a thread. Where these
	// split spans that have values of the same names, those of the spans that are split count.
	Whose bool
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
	// Hits counts hits also of events of which a hit stands for more: those are taken as events.
	Hits bool
	// Missing says that the script shows which optional events there are not: no note tells of them.
	Missing bool
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
	// List are the members of a composite key; Text says them for people.
	List []Fn
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
