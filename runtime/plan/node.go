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
	// branches adds the operator that makes its events, if any, and returns the
	// branches.
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
	// Whose says that the values are attributes that spans of several kinds may have, such as a
	// thread. If a span with such a value splits a span with a value of the same name, the part
	// gets the value of the span that is split.
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
	// Hits counts occurrences, also of events whose occurrence raises the kernel's counter by
	// more than one. Such events are then sampled.
	Hits bool
	// Missing says that the script itself shows which optional events do not exist here, so that no
	// note is needed.
	Missing bool
	// Runs is how often the observed command runs, one run after the other; 0 means once. Counters are
	// read at the end of each run, and their events have the number of the run.
	Runs int
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
	// List are the members of a composite key; Text is their text for messages.
	List []Fn
	// Const is a value that is the same for all events; Text is its text for
	// messages.
	Const expr.Node
	Pos   string // where the script gives it, for errors
	shows bool   // its result is shown, not computed with
}

// Given reports that there is a function, for those that may be left out.
func (f Fn) Given() bool { return f.Text != "" || f.Call != nil || f.Const != nil || len(f.List) > 0 }

// forPeople returns f marked as a function whose result is shown.
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
	// Check returns an error if the function reads a field that none of the
	// possible events has. It runs before anything is opened.
	Check(events []*expr.Scope) error
	// Lower compiles the function for one kind of event. If it returns an
	// error, the function stays interpreted.
	Lower(sc *expr.Scope, want expr.Kind) (expr.Node, error)
	// Call evaluates it on one event: the slow, interpreted engine.
	Call(e *event.Event) (event.Value, error)
}
