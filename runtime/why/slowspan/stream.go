package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/overlap"
	"ppscript/runtime/why"
)

// This file takes spans that no join makes, and that have no timeline: those of folds, and parts of
// spans. The history comes to the same place, and each span waits until that has come to its end.

// mostWaiting bounds the spans that wait for their history, or for time; those beyond are counted as skipped.
const mostWaiting = 1 << 14

// A Shape says what the events of a stream tell of spans.
type Shape struct {
	// Begin and Delay are the slots that have them, Name the slot that names the whole of which the span
	// is a part. -1 means that the Start of the events tells the begin, and the time the end.
	Begin, Delay, Name int
	// Thread is the slot with the span's thread; -1 is the thread that ends it.
	Thread int
}

// ShapeOf is the Shape of events with a schema, which are about somebody.
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

// A Spans takes the history, as a flow.Sink, and spans by its Taker, and has the slow ones explained.
type Spans struct {
	Choice
	*Story
	Losses
	Shapes []*Shape // by stream
	// Thread is whose span it is, Label what it is called, as in a Config.
	Thread, Label *flow.Fn
	Errs          flow.Errors

	teller  teller
	slow    slowness
	next    event.Time // when the next normal span is explained
	now     event.Time // of the history
	waiting []waiting  // in the order of their ends
	frame   expr.Frame
}

type waiting struct {
	span why.Span
	verdict
}

// Events implements flow.Sink, of the history.
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

// take takes a span: Fast path, fast ones pass in a few ns.
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

// name fills in what the user says, and what a span is called.
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
// Fast path: mostly none waits.
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

// tell explains a span whose history has come.
func (s *Spans) tell(w *waiting) {
	if s.withinBudget() {
		s.add(s.teller.tell(w.span), w.verdict)
	} else {
		s.skip(w.verdict)
	}
}

// Rest explains what waits still, at the end of a run.
func (s *Spans) Rest() {
	s.due(event.MaxTime)
	s.slow.end(&s.Choice, s.Story)
}

// Lost implements flow.Sink.
func (s *Spans) Lost(ring int32, _ uint64, from event.Time) {
	s.teller.story = s.Story
	s.teller.lost(from, s.End(ring), true)
}

// A Taker takes the spans. What is lost behind them the history tells.
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
