package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/stack"
)

// Log shows every event as a line.
type Log struct {
	In    Stream
	Title string
	// Pairs shows the two events of a pair instead of one line for the pair.
	Pairs bool
	// Newest keeps the newest events in the rings, instead of losing them
	// when a ring is full, and shows them at the end.
	Newest bool
	// NoRegisters leaves out the block of registers that some events have,
	// Registers shows it; with neither, breakpoints show it and faults do not.
	NoRegisters, Registers bool
	// Fields, if any, are shown in place of the events' own fields.
	Fields []Var
	// Heading is shown in text output in place of the fields, above the two
	// events between which the event lies; nil shows the fields.
	Heading *Fn
	// Text is shown in text output in place of the fields; further lines of it
	// go below the event's line. nil shows the fields.
	Text *Fn
	// Result is an expression whose value is shown behind each line.
	Result *Fn
	// View shows the fields as the columns of rows, under one header; nil shows lines.
	View *view.View
	// Line says which fields lines of text have, as perf script prints them; nil is the usual line.
	Line *result.LineLayout
}

// Input implements Report.
func (l *Log) Input() Stream { return l.In }

// A LogOp is the operator that Build makes of a Log.
type LogOp struct {
	operator
	Name     string
	Spec     *Log
	result   *flow.Fn     // the value behind each line; nil for none
	shows    *view.Fields // nil: the events as they are
	columns  []result.Column
	cells    []view.Show // by column; nil shows the value
	branches []branch
}

// A LogRun is a LogOp that runs. Session sets Emit before events flow.
type LogRun struct {
	running
	*LogOp
	Emit func(e *event.Event)
	// EmitAs is Emit for a log with a heading: the heading's text, and the
	// events below it; nil for none.
	EmitAs func(e *event.Event, heading string, parts [2]*event.Event)
	// Exec runs the exec attribute of each event, behind its line.
	Exec *ExecRun
	// Result is the value behind each line; nil for none.
	Result *view.Result
	events *view.LogEvents // nil: the events as they are
	router *flow.Router
}

// Events implements flow.Sink.
func (l *LogRun) Events(evs []*event.Event) {
	for i, e := range evs {
		if !l.router.Show() {
			return
		}
		if l.events == nil {
			l.Emit(e)
		} else if e, heading, parts := l.events.Of(e); l.Spec.Heading == nil {
			l.Emit(e)
		} else {
			l.EmitAs(e, heading, parts)
		}
		if l.Exec != nil {
			l.Exec.Events(evs[i : i+1])
		}
		if l.Result != nil {
			l.Result.Show(e)
		}
	}
}

// Rows is set if the events are shown as rows of a table; nil for lines.
func (l *LogOp) Rows() (*view.Rows, error) {
	if l.Spec.View == nil {
		return nil, nil
	}
	return l.Spec.View.Rows(l.columns, l.cells)
}

// Text is the text shown in place of the fields of the last event that Emit
// got; "" shows the fields.
func (l *LogRun) Text() string {
	if l.events == nil {
		return ""
	}
	return l.events.Line
}

// Lost implements flow.Sink: the session reports losses, once for all.
func (l *LogRun) Lost(int32, uint64, event.Time) {}

func (l *Log) build(b *builder) error {
	brs, err := b.existing("log", l.In)
	if err != nil {
		return err
	}
	if brs = unsent(b, brs); len(brs) == 0 {
		return nil
	}
	op := &LogOp{Spec: l, Name: b.names.next("log"), branches: brs}
	if l.Result != nil {
		if op.result, err = b.fn(l.Result.forPeople(), brs, expr.Any); err != nil {
			return err
		}
	}
	if len(l.Fields) > 0 {
		if op.shows, err = l.show(b, brs); err != nil {
			return err
		}
		for i, v := range op.shows.Values {
			c := b.prints.KeyColumn(op.shows.Names[i], v)
			c.Kind = result.ValueColumn
			op.columns, op.cells = append(op.columns, c), append(op.cells, b.prints.Of(v))
		}
	}
	if l.Line != nil {
		l.placed(b, brs)
	}
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name, prints: true}, brs)
	return nil
}

func (l *LogOp) instantiate(in *Instance) Running {
	run := &LogRun{LogOp: l, router: in.Router}
	if l.result != nil {
		run.Result = &view.Result{Fn: l.result}
		in.fails(l.Spec.Result.label(), &run.Result.Errs, false)
	}
	if l.shows != nil {
		run.events = l.shows.Show(in.streamsOf(l.shows.Streams))
		in.fails("log", &run.events.Errs, false)
	}
	return run
}

func (l *LogRun) sink(int) flow.Sink { return l }

// placed has the events whose lines name a function taken with it: with the stack that the user or the
// recording has, or with the innermost function.
func (l *Log) placed(b *builder, brs []branch) {
	for _, br := range brs {
		l.Line.Align(b.plan.streams[br.stream])
		e := b.events[br.stream]
		if br.root != nil || e == nil {
			continue
		}
		names := l.Line.OfSchema(e.Stream.Schema)&(result.LineSymbol|result.LineDSO|result.LineIP) != 0
		switch {
		case b.env.Replay:
			e.Stack = &stack.Choice{Kernel: true, User: true, Unwind: "auto", Show: true, Innermost: names,
				IfAny: true}
		case names && e.Stack == nil:
			e.Stack = &stack.Choice{Kernel: true, User: true, Unwind: "fp", Show: true, Max: 1}
		}
	}
}

func (l *LogOp) needs(b *builder, n *need) {
	n.lines(b)
	if l.Spec.Line != nil {
		n.line(l.Spec.Line.All())
	}
	n.Order("a log shows events in time order")
	b.plan.Overwrite = b.plan.Overwrite || l.Spec.Newest
}

// sees says that lines show whole events. Events of a fold that keeps no begin
// are an exception: their values suffice.
func (l *LogOp) sees() sight {
	s := sight{key: true, starts: true}
	for _, br := range l.branches {
		n, made := br.root.(*foldOp)
		s.records = s.records || !made || n.spec.Begin > 0
	}
	return s
}

func (*LogOp) deliver(h Host) Delivery { return h.Lines() }

func (*LogOp) ofOneMachine() (what, why string) { return "", "" }

func (*LogOp) inKernel() (graph.Work, string) { return graph.Work{}, "a log shows events" }

func (l *LogOp) explain(w *strings.Builder) {
	if l.Spec.View == nil {
		fmt.Fprintf(w, "result %-8s one line for each event\n", l.Name)
		return
	}
	fmt.Fprintf(w, "result %-8s one row for each event: %s\n", l.Name, strings.Join(l.shows.Names, ", "))
}
