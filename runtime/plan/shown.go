package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
)

// shows says what a log shows in place of the fields of its events: values by
// name, computed for each event.
type shows struct {
	names   []string
	values  []*flow.Fn
	streams []*event.Stream // by stream of the event
	stacks  []func(e *event.Event) uint64

	heading *flow.Fn // nil: the fields are what text shows too
	text    *flow.Fn // likewise
}

// shown is the event as it is shown.
type shown struct {
	*shows
	streams []*event.Stream // the instance's
	line    string          // the text of the event at hand

	frame   expr.Frame
	errs    flow.Errors
	event   event.Event
	derived event.Derived
}

func (s *shows) instantiate(in *Instance) *shown {
	own := &shown{shows: s, streams: in.streamsOf(s.streams)}
	in.fails("log", &own.errs, false)
	return own
}

// show prepares the fields of a log.
func (l *Log) show(b *builder, brs []branch) (*shows, error) {
	s := &shows{stacks: carried(b, brs)}
	if l.Heading != nil {
		fn, err := b.fn(l.Heading.forPeople(), brs, expr.Any)
		if err != nil {
			return nil, err
		}
		s.heading = fn
	}
	if l.Text != nil {
		fn, err := b.fn(l.Text.forPeople(), brs, expr.Any)
		if err != nil {
			return nil, err
		}
		s.text = fn
	}
	for _, v := range l.Fields {
		fn, err := b.fn(v.Fn.forPeople(), brs, expr.Any)
		if err != nil {
			return nil, err
		}
		s.names, s.values = append(s.names, v.Name), append(s.values, fn)
	}
	s.streams = make([]*event.Stream, len(b.plan.streams))
	for _, br := range brs {
		schema := &event.Schema{System: br.scope.Schema.System, Name: br.scope.Schema.Name}
		for i, name := range s.names {
			unit := expr.UnitOf(s.values[i].At(br.stream).Node)
			schema.Fields = append(schema.Fields, event.Field{
				Name:   name,
				Place:  event.InSlot,
				Offset: i,
				Size:   8,
				Signed: true,
				Unit:   unit,
				Shown:  b.prints.By(b.prints.NodeOf(s.values[i].At(br.stream))),
			})
		}
		if s.stacks != nil && !slices.Contains(s.names, Stack) {
			schema.Fields = append(schema.Fields, event.Field{
				Name:   Stack,
				Place:  event.InSlot,
				Offset: len(s.names),
				Size:   4,
			})
		}
		s.streams[br.stream] = b.madeStream(schema)
	}
	return s, nil
}

// of is the event as it is shown, valid until the next call, and its heading
// and parts. A value that fails is absent, and counted.
func (s *shown) of(e *event.Event) (shown *event.Event, heading string, parts [2]*event.Event) {
	s.derived.Slots = s.derived.Slots[:0]
	for _, fn := range s.values {
		s.derived.Slots = append(s.derived.Slots, s.value(fn, e))
	}
	if s.text != nil {
		s.line = s.value(s.text, e).String()
	}
	if s.heading != nil && e.Derived != nil {
		heading, parts = s.value(s.heading, e).String(), [2]*event.Event{e.Derived.Start, e.Derived.End}
	}
	if s.stacks != nil {
		var id uint64
		if fn := s.stacks[e.Stream.Index]; fn != nil {
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

func (s *shown) value(fn *flow.Fn, e *event.Event) event.Value {
	s.frame.Reset(e)
	v := fn.For(e).Value(&s.frame)
	if s.frame.Err != nil {
		s.errs.Note(&s.frame)
		return event.Value{}
	}
	return v
}
