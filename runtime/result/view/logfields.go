package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file makes the events that a log shows if its script chose other fields, which
// are computed for each event.

// Fields are the fields that a log shows in place of the events' own.
type Fields struct {
	Names   []string
	Values  []*flow.Fn
	Streams []*event.Stream // the streams of the shown events, by the stream of the original event
	// Stacks returns the stack of an event, by stream; nil if none is shown.
	Stacks []func(e *event.Event) uint64

	Heading *flow.Fn // nil: text shows the fields
	Text    *flow.Fn // nil: text shows the fields
}

// Schema returns the schema of the events that are shown for the events of a
// stream.
func (s *Fields) Schema(of *event.Schema, stream int, prints *Prints) *event.Schema {
	schema := &event.Schema{System: of.System, Name: of.Name, Named: of.Named}
	stack := s.Stacks != nil
	for i, name := range s.Names {
		node := s.Values[i].At(stream)
		f := event.Field{
			Name:   name,
			Place:  event.InSlot,
			Offset: i,
			Size:   8,
			Signed: true,
			Unit:   expr.UnitOf(node.Node),
		}
		prints.NameAddresses(&f, prints.NodeOf(node))
		schema.Fields = append(schema.Fields, f)
		stack = stack && name != event.StackName
	}
	if stack {
		schema.Fields = append(schema.Fields, event.Field{
			Name:   event.StackName,
			Place:  event.InSlot,
			Offset: len(s.Names),
			Size:   4,
		})
	}
	return schema
}

// LogEvents makes the events of one log of one instance.
type LogEvents struct {
	*Fields
	streams []*event.Stream // streams of this instance
	// Line is the text of the last event passed to Of, if Text is set.
	Line string
	Errs flow.Errors

	frame   expr.Frame
	event   event.Event
	derived event.Derived
}

// Show returns a LogEvents for one instance; streams replace s.Streams.
func (s *Fields) Show(streams []*event.Stream) *LogEvents {
	return &LogEvents{Fields: s, streams: streams}
}

// Of returns the event to show, valid until the next call, with its heading and
// parts. A value whose function fails is left empty, and counted as an error.
func (s *LogEvents) Of(e *event.Event) (shown *event.Event, heading string, parts [2]*event.Event) {
	s.derived.Slots = s.derived.Slots[:0]
	for _, fn := range s.Values {
		s.derived.Slots = append(s.derived.Slots, s.value(fn, e))
	}
	if s.Text != nil {
		s.Line = s.value(s.Text, e).String()
	}
	if s.Heading != nil && e.Derived != nil {
		heading, parts = s.value(s.Heading, e).String(), [2]*event.Event{e.Derived.Start, e.Derived.End}
	}
	if s.Stacks != nil {
		var id uint64
		if fn := s.Stacks[e.Stream.Index]; fn != nil {
			id = fn(e)
		}
		s.derived.Slots = append(s.derived.Slots, event.UintOf(id))
	}
	s.event = event.Event{
		Time:    e.Time,
		Stream:  s.streams[e.Stream.Index],
		PID:     e.PID,
		TID:     e.TID,
		CPU:     e.CPU,
		Ring:    e.Ring,
		Derived: &s.derived,
	}
	return &s.event, heading, parts
}

func (s *LogEvents) value(fn *flow.Fn, e *event.Event) event.Value {
	s.frame.Reset(e)
	v := fn.For(e).Value(&s.frame)
	if s.frame.Err != nil {
		s.Errs.Note(&s.frame)
		return event.Value{}
	}
	return v
}
