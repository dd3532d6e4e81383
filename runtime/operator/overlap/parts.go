package overlap

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

// batch is how many parts are handed on at once.
const batch = 128

// parts are the events on their way to the next operator.
type parts struct {
	events   [batch]event.Event
	deriveds [batch]event.Derived
	out      []*event.Event
	facts    []event.Value // scratch of the operator that makes facts
}

// The slots that a part has behind the slots of its span.
const (
	slotDelay = iota
	slotBegin
	slotName
	SlotFacts // the first fact
)

func (o *parts) init() {
	for i := range o.events {
		o.events[i].Derived = &o.deriveds[i]
	}
}

// add makes the event of a part: the span's own, with a name, another length, and facts.
func (o *parts) add(s *Splitter, e *event.Event, p piece, name event.Value, facts []event.Value) {
	n := len(o.out)
	ev, d := &o.events[n], &o.deriveds[n]
	*ev = event.Event{Time: e.Time, Stream: s.spec.Out[e.Stream.Index], Derived: d,
		PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring}
	d.Start, d.End = e.Derived.Start, e.Derived.End
	own := s.spec.Slots[e.Stream.Index]
	d.Slots = append(d.Slots[:0], e.Derived.Slots[:min(own, len(e.Derived.Slots))]...)
	for len(d.Slots) < own {
		d.Slots = append(d.Slots, event.Value{})
	}
	d.Slots = append(d.Slots, event.DurationOf(int64(p.to-p.from)), event.TimeOf(p.from), name)
	d.Slots = append(d.Slots, facts...)
	if o.out = append(o.out, ev); len(o.out) == batch {
		o.flush(s.next)
	}
}

// flush hands the events on.
func (o *parts) flush(next flow.Sink) {
	if len(o.out) > 0 {
		next.Events(o.out)
		o.out = o.out[:0]
	}
}
