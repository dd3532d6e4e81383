package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/overlap"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// This file shows the events of logs as lines.

// logLines delivers a log: it shows each event as a line.
type logLines struct {
	plan.NoDelivery
	to *results
}

func (d logLines) Begin(_ context.Context, op plan.Running) error {
	l := op.(*plan.LogRun)
	rows, err := l.Rows()
	if err != nil {
		return err
	}
	l.Emit, l.EmitAs = d.to.emitter(l, rows), d.to.headed(l)
	if l.Result != nil {
		l.Result.Out = &textOut{to: d.to}
	}
	return nil
}

// emitter returns the function that shows an event of a log: as a row, or as a
// line if rows is nil. A pair is shown as its two events.
func (o *results) emitter(l *plan.LogRun, rows *view.Rows) func(e *event.Event) {
	line := result.Line{Result: l.Name, Stacks: o.stacks.shows(), Layout: l.Spec.Line}
	hidden := func(e *event.Event) bool {
		return l.Spec.NoRegisters || !l.Spec.Registers && e.Stream != nil &&
			e.Stream.Schema.System == "software"
	}
	if o.cfg.Options.Stacks.FlameGraph == Stdout {
		return func(*event.Event) {} // the stacks take the place of the lines
	}
	show := func(e *event.Event) {
		o.fill(&line, e)
		if hidden(e) {
			line.Block = line.Block[:0]
		}
		line.Text = l.Text()
		line.Chained = line.Layout != nil && chained(e)
		if rows != nil {
			line.Rows, line.Cells = &rows.Rows, rows.Cells(e.Derived.Slots)
		}
		o.line(&line)
		if rows != nil && o.failed == nil {
			o.failed = rows.Err
		}
	}
	return func(e *event.Event) {
		switch {
		case e.Derived == nil || e.Derived.Start == nil || e.Stream.Schema.System == overlap.System:
			show(e)
		case e.Derived.End == nil:
			o.alone(l.Name, e)
		default:
			show(e.Derived.Start)
			show(e.Derived.End)
		}
	}
}

// chained reports whether an event was recorded with a call stack.
func chained(e *event.Event) bool {
	if e.Stream == nil {
		return false
	}
	m, ok := e.Stream.Members.(interface{ Chained(e *event.Event) bool })
	return ok && m.Chained(e)
}

// headed returns the function that shows an event of a log with a heading,
// followed by the lines of the event's parts.
func (o *results) headed(l *plan.LogRun) func(e *event.Event, heading string, parts [2]*event.Event) {
	line := result.Line{Result: l.Name, Stacks: o.stacks.shows()}
	if o.cfg.Options.Stacks.FlameGraph == Stdout {
		return func(*event.Event, string, [2]*event.Event) {}
	}
	below := [2]result.Line{line, line}
	return func(e *event.Event, heading string, parts [2]*event.Event) {
		o.fill(&line, e)
		line.Heading, line.Parts = heading, below[:0]
		for _, p := range parts {
			if p != nil {
				n := len(line.Parts)
				line.Parts = below[:n+1]
				o.fill(&line.Parts[n], p)
			}
		}
		o.line(&line)
	}
}

// fill puts an event and its stacks into a line.
func (o *results) fill(line *result.Line, e *event.Event) {
	line.Event, line.Marker = e, o.marker(e)
	line.Block = registers(line.Block[:0], e)
	if line.Stacks {
		s := o.stacks.eventStack(e)
		line.Frames, line.Cut = append(line.Frames[:0], s.Frames...), s.Cut
		line.More = o.stacks.moreStacks(line.More[:0], e)
	}
}

func (o *results) line(l *result.Line) {
	if o.failed == nil {
		o.failed = o.out.Show(l)
	}
}
