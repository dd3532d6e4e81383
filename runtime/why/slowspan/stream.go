package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/overlap"
	"ppscript/runtime/why"
)

// This file explains spans without a join and its timeline: spans of folds, and parts of spans.
// Their history arrives as a separate stream, and a span waits until the history has reached its
// end.

// mostWaiting bounds the spans that wait for their history or for the budget; further spans are
// skipped.
const mostWaiting = 1 << 14

// A Shape says how the events of a stream describe spans.
type Shape struct {
	// Begin and Delay are the slots with the begin and the length of a span, and Name is the slot
	// with the name of a part. -1 means none: then the span is from the pair's Start to the event's
	// time.
	Begin, Delay, Name int
	// Thread is the slot with the span's thread; -1 means the thread that ends
	// it.
	Thread int
}

// ShapeOf returns the Shape of events with a schema; about says which slot has
// their thread.
func ShapeOf(s *event.Schema, about flow.About) *Shape {
	sh := &Shape{-1, -1, -1, -1}
	if about.Whom == flow.Thread {
		sh.Thread = about.Slot
	}
	if s.System != overlap.System {
		return sh
	}
	for to, name := range map[*int]string{&sh.Begin: "begin", &sh.Delay: "delay", &sh.Name: "part"} {
		if f, ok := s.Field(name); ok && f.Place == event.InSlot {
			*to = f.Offset
		}
	}
	return sh
}

// A Spans gets the history, as a flow.Sink, and spans by its Taker. It explains the slow spans.
type Spans struct {
	Choice
	*Story
	Losses
	Shapes []*Shape // by stream
	// Thread and Label are as in a Config.
	Thread, Label *flow.Fn
	Errs          flow.Errors

	teller  teller
	slow    slowness
	next    event.Time // earliest time at which the next normal span is explained
	now     event.Time // time of the newest event of the history
	waiting []waiting  // sorted by end
	frame   expr.Frame
}

type waiting struct {
	span why.Span
	verdict
}

// Events implements flow.Sink, for the history.
func (s *Spans) Events(evs []*event.Event) {
	s.teller.story = s.Story
	for _, e := range evs {
		if e.Time > s.now {
			s.now = e.Time
			s.due(e.Time)
		}
		s.teller.add(e)
	}
}

// take judges a span, and queues it if it is to be explained. Fast path: a span
// that is not slow takes a few ns.
func (s *Spans) take(e *event.Event, sh *Shape) {
	d := e.Derived
	if d == nil || d.Start == nil && sh.Begin < 0 {
		return
	}
	span := why.Span{To: e.Time, TID: doer(e)}
	if sh.Begin >= 0 {
		span.From = event.Time(d.Slots[sh.Begin].Int())
		span.To = span.From + event.Time(d.Slots[sh.Delay].Int())
	} else {
		span.From = d.Start.Time
	}
	v := s.slow.judge(int64(span.To-span.From), &s.Choice, s.Story)
	if v.kind == passes {
		return
	}
	if v.kind == normal {
		if !s.Compare || e.Time < s.next {
			return
		}
		s.next = e.Time + normally
	}
	if sh.Thread >= 0 && sh.Thread < len(d.Slots) {
		span.TID = int32(d.Slots[sh.Thread].Int())
	}
	s.name(&span, e, sh)
	if span.TID == e.TID {
		span.PID = e.PID
	}
	if len(s.waiting) == mostWaiting {
		s.skip(v)
		return
	}
	if span.To < s.now {
		s.tell(&waiting{span, v})
		return
	}
	s.waiting = append(s.waiting, waiting{span, v})
	for i := len(s.waiting) - 1; i > 0 && s.waiting[i-1].span.To > span.To; i-- {
		s.waiting[i], s.waiting[i-1] = s.waiting[i-1], s.waiting[i]
	}
}

// name sets the thread that the user's function returns, and the label.
func (s *Spans) name(span *why.Span, e *event.Event, sh *Shape) {
	if s.Thread != nil {
		s.frame.Reset(e)
		if tid := s.Thread.For(e).Int(&s.frame); s.frame.Err == nil {
			span.TID = int32(tid)
		} else {
			s.Errs.Note(&s.frame)
		}
	}
	span.Label = e.Stream.Label
	if sh.Name >= 0 {
		span.Label += ": " + e.Derived.Slots[sh.Name].String()
	}
	if s.Label != nil {
		s.frame.Reset(e)
		if v := s.Label.For(e).Value(&s.frame); s.frame.Err == nil {
			span.Label = v.String()
		} else {
			s.Errs.Note(&s.frame)
		}
	}
}

// due explains the spans that ended before a time.
//
// Fast path: usually none waits.
func (s *Spans) due(now event.Time) {
	n := 0
	for n < len(s.waiting) && s.waiting[n].span.To < now {
		s.tell(&s.waiting[n])
		n++
	}
	if n > 0 {
		s.waiting = append(s.waiting[:0], s.waiting[n:]...)
	}
}

// tell explains a span whose history is complete.
func (s *Spans) tell(w *waiting) {
	if s.withinBudget() {
		s.add(s.teller.tell(w.span), w.verdict)
	} else {
		s.skip(w.verdict)
	}
}

// Rest explains the spans that still wait at the end of a run.
func (s *Spans) Rest() {
	s.due(event.MaxTime)
	s.slow.end(&s.Choice, s.Story)
}

// Lost implements flow.Sink.
func (s *Spans) Lost(ring int32, _ uint64, from event.Time) {
	s.teller.story = s.Story
	s.teller.lost(from, s.End(ring), true)
}

// A Taker is the flow.Sink for the spans. It ignores losses, which the history
// also has.
type Taker struct{ *Spans }

// Events implements flow.Sink.
func (s Taker) Events(evs []*event.Event) {
	for _, e := range evs {
		if e.Stream.Index < len(s.Shapes) && s.Shapes[e.Stream.Index] != nil {
			s.take(e, s.Shapes[e.Stream.Index])
		}
	}
}

// Lost implements flow.Sink.
func (Taker) Lost(int32, uint64, event.Time) {}
