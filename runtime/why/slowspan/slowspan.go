// Package slowspan brings slow spans to package why, which says where their time went:
// it chooses the spans, finds the events around them, and holds to a budget. Package plan
// puts it behind joins; it opens nothing and shows nothing.
package slowspan

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/why"
)

// A Choice says which spans are slow. The zero Choice is all.
type Choice struct {
	// Than takes those that are longer, in ns; Slowest this share of them, the longest, as
	// far as they are known by then. 0 of both takes all.
	Than    int64
	Slowest float64
	// Compare also has some of the others explained, the normal ones.
	Compare bool
}

const (
	// atFirst is how many spans tell what is slow, at least, if it is a share of them.
	atFirst = 100
	// normally is the time between two normal spans that are explained.
	normally = event.Time(10 * time.Millisecond)
)

// A Config is what a Sink needs.
type Config struct {
	Choice
	*Story
	Timeline *join.Timeline
	// Keep has the timeline keep events until somebody asks; else each is looked at as it
	// comes, which is cheaper if much is asked.
	Keep bool
	// Before is how much of the history before a span is looked at, in ns.
	Before int64
	// Thread is whose span it is, Label what it is called; nil is as Key says, and what its
	// events are called.
	Thread, Label *flow.Fn
	Key           Whose
	Losses
}

// Whose says whose a span is.
type Whose uint8

const (
	ByEnd  Whose = iota // who ends it
	ByDoer              // the key is the number of who begins and ends it
	ByKey               // the key is the number of the thread
)

// WhoseBy is whose spans are whose key is the number of a thread, or of the thread that is at
// work, or neither.
func WhoseBy(thread, doer bool) Whose {
	switch {
	case thread && doer:
		return ByDoer
	case thread:
		return ByKey
	}
	return ByEnd
}

// Losses tell when events were lost.
type Losses struct {
	// End is when the last loss of a ring was over; 0 if that is not known.
	End func(ring int32) event.Time
	// Missed are the times in which programs of the kernel missed events; nil if none keep
	// the history.
	Missed func() []join.Gap
}

// A Sink takes pairs, and has the slow ones explained. It implements flow.Sink.
type Sink struct {
	Config
	Errs   flow.Errors
	teller teller
	slow   slowness
	next   event.Time // when the next normal span is explained
	frame  expr.Frame
}

// New makes a Sink, and has the timeline keep what it needs.
func New(c Config) *Sink {
	s := &Sink{Config: c, teller: teller{story: c.Story}}
	if c.Keep {
		c.Timeline.Want(c.Before)
	} else {
		c.Timeline.Hand(s.teller.add)
	}
	return s
}

// Events implements flow.Sink.
//
// Fast path: fast pairs pass in a few ns.
func (s *Sink) Events(evs []*event.Event) {
	for _, e := range evs {
		if e.Derived == nil || e.Derived.Start == nil {
			continue
		}
		slow, normal := s.slow.is(int64(e.Time-e.Derived.Start.Time), &s.Choice)
		if !slow {
			if !s.Compare || !normal || e.Time < s.next {
				continue
			}
			s.next = e.Time + normally
		}
		s.explain(e, slow)
	}
}

// explain has a span explained, unless there is no time for it.
//
// Slow path: it walks through the events around the span.
func (s *Sink) explain(e *event.Event, slow bool) {
	if !s.allowed() {
		if slow {
			s.Sum.Skip(1)
		}
		return
	}
	from := e.Derived.Start.Time
	span := why.Span{From: from, To: e.Time, TID: s.thread(e), Label: s.label(e)}
	if span.TID == e.TID {
		span.PID = e.PID
	}
	if !s.Keep {
		s.teller.told(span, slow)
		return
	}
	began := time.Now()
	h := why.History{Gaps: s.teller.gaps}
	h.Events, h.Since = s.Timeline.Around(from-event.Time(s.Before), e.Time)
	h.After = s.Timeline.Behind(e.Time)
	if s.Missed != nil {
		for _, g := range s.Missed() {
			h.Gaps = append(h.Gaps, why.Gap{CPU: -1, From: g.From, To: g.To})
		}
	}
	s.Sum.Add(s.teller.explainer().Explain(span, h), slow)
	s.spent += time.Since(began)
}

// thread is whose span a pair is.
func (s *Sink) thread(e *event.Event) int32 {
	switch slots := e.Derived.Slots; {
	case s.Thread != nil:
		s.frame.Reset(e)
		tid := s.Thread.For(e).Int(&s.frame)
		if s.frame.Err == nil {
			return int32(tid)
		}
		s.Errs.Note(&s.frame)
	case s.Key == ByKey && len(slots) > join.SlotReason: // of an event without a partner
		return int32(slots[join.SlotKey].Int())
	case s.Key == ByKey && len(slots) > 0:
		return int32(slots[0].Int())
	}
	return doer(e)
}

// doer is the thread in which a pair ends. Its number is that of the machine, as those in
// the fields of events are, where the event has it: the sample's own is that of a namespace.
func doer(e *event.Event) int32 {
	last := e.Derived.End
	if last == nil {
		last = e.Derived.Start
	}
	if f, ok := last.Stream.Schema.Field("common_pid"); ok && f.Place == event.InRaw {
		if tid, ok := f.Int(last); ok && tid > 0 {
			return int32(tid)
		}
	}
	return e.TID
}

// label is what a pair is called.
func (s *Sink) label(e *event.Event) string {
	if s.Label != nil {
		s.frame.Reset(e)
		v := s.Label.For(e).Value(&s.frame)
		if s.frame.Err == nil {
			return v.String()
		}
		s.Errs.Note(&s.frame)
	}
	return e.Stream.Label
}

// Lost implements flow.Sink.
func (s *Sink) Lost(ring int32, _ uint64, from event.Time) {
	s.teller.lost(from, s.End(ring), !s.Keep)
}

// A slowness tells which spans are slow.
type slowness struct {
	lengths agg.Sketch // of all spans, if a share of them is slow
	bound   int64      // what is slow then
	settle  uint64     // the number of spans at which the bound is looked up again
	seen    uint64
}

// is decides about a span by its length: whether it is slow, or normal. The first spans are neither: they
// only tell what is long, and the longest of all may be among them.
func (s *slowness) is(ns int64, c *Choice) (slow, normal bool) {
	if c.Slowest <= 0 {
		return ns > c.Than, ns <= c.Than
	}
	s.seen++
	long := ns > max(s.bound, c.Than)
	slow, normal = s.seen > atFirst && long, s.seen > atFirst && !long
	s.lengths.Add(event.NumberOf(event.DurationValue, ns))
	if s.seen >= max(s.settle, atFirst) {
		s.bound = s.lengths.Quantile(1 - c.Slowest).Int()
		s.settle = s.seen + s.seen/16
	}
	return slow, normal
}
