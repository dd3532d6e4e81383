package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
)

// shown is what a log shows in place of the fields of its events: values by
// name, computed for each event.
type shown struct {
	names   []string
	values  []*flow.Fn
	streams []*event.Stream // by stream of the event
	stacks  []func(e *event.Event) uint64

	frame expr.Frame
	errs  flow.Errors
	event event.Event
	joint event.Joint
}

// show prepares the fields of a log.
func (b *builder) show(vars []Var, brs []branch) (*shown, error) {
	s := &shown{stacks: b.carried(brs)}
	for _, v := range vars {
		fn, err := b.fn(v.Fn, brs, expr.Any)
		if err != nil {
			return nil, err
		}
		s.names, s.values = append(s.names, v.Name), append(s.values, fn)
	}
	s.streams = make([]*event.Stream, len(b.plan.streams))
	for _, br := range brs {
		schema := &event.Schema{System: br.scope.Schema.System, Name: br.scope.Schema.Name}
		for i, name := range s.names {
			schema.Fields = append(schema.Fields, event.Field{Name: name, Place: event.InSlot, Offset: i, Size: 8, Signed: true})
		}
		if s.stacks != nil && !slices.Contains(s.names, Stack) {
			schema.Fields = append(schema.Fields, event.Field{Name: Stack, Place: event.InSlot, Offset: len(s.names), Size: 4})
		}
		s.streams[br.stream] = b.madeStream(schema)
	}
	b.plan.errs = append(b.plan.errs, func() (string, *flow.Errors) { return "log", &s.errs })
	return s, nil
}

// of is the event as it is shown, valid until the next call. A value that
// fails is absent, and counted.
func (s *shown) of(e *event.Event) *event.Event {
	s.joint.Slots = s.joint.Slots[:0]
	for _, fn := range s.values {
		s.frame.Reset(e)
		v := fn.For(e).Value(&s.frame)
		if s.frame.Err != nil {
			s.errs.Note(&s.frame)
			v = event.Value{}
		}
		s.joint.Slots = append(s.joint.Slots, v)
	}
	if s.stacks != nil {
		var id uint64
		if fn := s.stacks[e.Stream.Index]; fn != nil {
			id = fn(e)
		}
		s.joint.Slots = append(s.joint.Slots, event.UintOf(id))
	}
	s.event = event.Event{Time: e.Time, Stream: s.streams[e.Stream.Index], PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring, Joint: &s.joint}
	return &s.event
}
