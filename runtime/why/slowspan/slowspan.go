// Package slowspan has slow spans explained by package why: it chooses the spans, finds
// the events around them, and limits the CPU time for that to a budget. A span is the
// time of a pair of a join, of a fold's event, or a window of a thread's time. Package
// plan places it after joins. It opens and shows nothing.
package slowspan

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// A Choice says which spans are slow. By the zero Choice all are.
type Choice struct {
	// Than selects spans that are longer, in ns. Slowest, if not 0, selects this share of all
	// spans: the longest among the spans so far.
	Than    int64
	Slowest float64
	// Compare also explains some of the other spans, the normal ones.
	Compare bool
}

const (
	// atFirst is the number of first spans after which a bound for slow spans is known, if a share
	// of them is slow. The longest of the first spans count as slow when all of them have come, or
	// when the run ends.
	atFirst = 100
	// normally is the least time between two normal spans that are explained.
	normally = event.Time(10 * time.Millisecond)
)

// A Config configures a Sink.
type Config struct {
	Choice
	*Story
	Timeline *join.Timeline
	// Keep makes the timeline keep events until a span is explained. Else each event is
	// passed to the Explainer immediately, which is cheaper if many spans are explained.
	Keep bool
	// Before is the length of the history before a span, in ns.
	Before int64
	// Thread returns the thread of a span; nil uses Key. Label returns the span's name; nil
	// uses the label of its events.
	Thread, Label *flow.Fn
	Key           Subject
	Losses
}

// Subject says how the thread of a span is found.
type Subject uint8

const (
	ByEnd  Subject = iota // the thread that ends it
	ByDoer                // the thread that begins and ends it, whose tid is the key
	ByKey                 // the thread whose tid is the key
)

// SubjectBy returns the Subject for spans whose key is the tid of a thread, and perhaps of the
// thread that begins and ends them (doer).
func SubjectBy(thread, doer bool) Subject {
	switch {
	case thread && doer:
		return ByDoer
	case thread:
		return ByKey
	}
	return ByEnd
}

// Losses has functions that return the times of losses.
type Losses struct {
	// End returns the end of the last loss of a ring; 0 if unknown.
	End func(ring int32) event.Time
	// Missed returns the times in which kernel programs missed events; nil if the history
	// is not kept by kernel programs.
	Missed func() []join.Gap
}

// A Sink explains the slow ones of the pairs that it gets. It implements
// flow.Sink.
type Sink struct {
	Config
	Errs    flow.Errors
	teller  teller
	slow    slowness
	next    event.Time // earliest time at which the next normal span is explained
	frame   expr.Frame
	held    held
	waiting []waiting // spans that wait until the budget allows to explain them
}

// New makes a Sink, and sets up the timeline for it.
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
// Fast path: a pair that is not slow takes a few ns.
func (s *Sink) Events(evs []*event.Event) {
	for _, e := range evs {
		if e.Derived == nil || e.Derived.Start == nil {
			continue
		}
		v := s.slow.judge(int64(e.Time-e.Derived.Start.Time), &s.Choice, s.Story)
		if v.kind == passes {
			continue
		}
		if v.kind == normal {
			if !s.Compare || e.Time < s.next {
				continue
			}
			s.next = e.Time + normally
		}
		s.explain(e, v)
	}
}

// explain explains a span, now or when the budget allows it.
//
// Slow path: it walks through the events around the span.
func (s *Sink) explain(e *event.Event, v verdict) {
	if !s.Keep && !s.withinBudget() {
		s.skip(v)
		return
	}
	span := why.Span{From: e.Derived.Start.Time, To: e.Time, TID: s.thread(e), Label: s.label(e)}
	if span.TID == e.TID {
		span.PID = e.PID
	}
	if !s.Keep {
		s.add(s.teller.tell(span), v)
		return
	}
	s.waiting = append(s.waiting, waiting{span, v})
	if s.withinBudget() {
		s.tellWaiting()
	} else if len(s.waiting) > mostWaiting {
		s.thin()
	}
}

// tellWaiting explains the waiting spans in the order of their ends, so that each event around them
// is read only once.
func (s *Sink) tellWaiting() {
	s.work(func() {
		gaps, oldest := s.gaps(), event.MaxTime
		for i := range s.waiting {
			oldest = min(oldest, s.waiting[i].span.From)
		}
		slices.SortStableFunc(s.waiting, func(a, b waiting) int { return cmp.Compare(a.span.To, b.span.To) })
		for i := range s.waiting {
			w := &s.waiting[i]
			from := w.span.From
			if i == 0 {
				from = oldest
			}
			h := s.history(from-event.Time(s.Before), w.span.To, gaps)
			explained := s.teller.explainer().Explain(w.span, h)
			if waited := i+1 < len(s.waiting); waited && s.held.since > w.span.To {
				s.skip(w.verdict) // its events were overwritten meanwhile
			} else {
				s.add(explained, w.verdict)
			}
		}
	})
	s.waiting = s.waiting[:0]
}

// thin skips the shorter half of the waiting spans.
func (s *Sink) thin() {
	slices.SortStableFunc(s.waiting, func(a, b waiting) int {
		return cmp.Compare(b.span.To-b.span.From, a.span.To-a.span.From)
	})
	half := len(s.waiting) / 2
	for _, w := range s.waiting[half:] {
		s.skip(w.verdict)
	}
	s.waiting = s.waiting[:half]
}

// thread returns the thread of a pair's span.
func (s *Sink) thread(e *event.Event) int32 {
	switch slots := e.Derived.Slots; {
	case s.Thread != nil:
		s.frame.Reset(e)
		tid := s.Thread.For(e).Int(&s.frame)
		if s.frame.Err == nil {
			return int32(tid)
		}
		s.Errs.Note(&s.frame)
	case s.Key == ByKey && len(slots) > join.SlotReason: // an event without a partner has other slots
		return int32(slots[join.SlotKey].Int())
	case s.Key == ByKey && len(slots) > 0:
		return int32(slots[0].Int())
	}
	return doer(e)
}

// doer returns the thread in which a pair ends. It prefers the tid in the event's fields,
// which is from the initial PID namespace like the tids in other fields, to the sample's tid,
// which may be from another namespace.
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

// label returns the name of a pair's span.
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

// Rest explains the spans that still wait at the end of a run. If there were few spans, it adds the
// longest of them.
func (s *Sink) Rest() {
	s.tellWaiting()
	s.slow.end(&s.Choice, s.Story)
}

// Lost implements flow.Sink.
func (s *Sink) Lost(ring int32, _ uint64, from event.Time) {
	s.teller.lost(from, s.End(ring), !s.Keep)
}

// A verdict says whether a span is slow.
type verdict struct {
	kind  kind
	early *early // nil unless the kind is among
}

type kind uint8

const (
	passes kind = iota // the span is not explained
	normal             // the span is not slow
	slow
	among // the span is among the longest of the first spans so far
)

// An early is one of the first spans that may be among the longest of them.
type early struct {
	ns      int64
	span    *result.WhySpan // the explained span; nil before that
	skipped bool            // it was not explained because of the budget
	slow    bool            // it is one of the longest for certain
}

// A slowness decides which spans are slow.
type slowness struct {
	lengths agg.Sketch // lengths of all spans, if a share of them is slow
	bound   int64      // length in ns from which spans are slow then
	settle  uint64     // number of spans at which the bound is computed again
	spans   uint64
	longest []*early // the longest of the first spans, the longest first
}

// judge decides whether a span is slow by its length. If a share is slow, the first spans determine
// the bound, so the decision about them is made when all of them have come.
func (s *slowness) judge(ns int64, c *Choice, story *Story) verdict {
	if c.Slowest <= 0 {
		if ns > c.Than {
			return verdict{kind: slow}
		}
		return verdict{kind: normal}
	}
	s.spans++
	v := verdict{kind: normal}
	switch long := ns > max(s.bound, c.Than); {
	case s.spans <= atFirst:
		v = s.early(ns, c)
	case long:
		v.kind = slow
	}
	s.lengths.Add(event.NumberOf(event.DurationValue, ns))
	if s.spans >= max(s.settle, atFirst) {
		s.bound = s.lengths.Quantile(1 - c.Slowest).Int()
		s.settle = s.spans + s.spans/16
	}
	if s.spans == atFirst+1 {
		s.end(c, story)
	}
	return v
}

// early decides about one of the first spans.
func (s *slowness) early(ns int64, c *Choice) verdict {
	i := sort.Search(len(s.longest), func(i int) bool { return s.longest[i].ns < ns })
	most := share(c, atFirst)
	if ns <= c.Than || i >= most {
		return verdict{kind: passes}
	}
	e := &early{ns: ns}
	s.longest = slices.Insert(s.longest, i, e)
	s.longest = s.longest[:min(len(s.longest), most)]
	return verdict{among, e}
}

// share returns the number of slow spans among so many spans: at least one.
func share(c *Choice, spans uint64) int {
	return max(1, int(math.Ceil(c.Slowest*float64(spans)-1e-9)))
}

// end counts the longest of the first spans as slow, when no more of the first spans will
// come.
func (s *slowness) end(c *Choice, story *Story) {
	for _, e := range s.longest[:min(len(s.longest), share(c, min(s.spans, atFirst)))] {
		e.slow = true
		if e.span != nil {
			story.add(e.span, verdict{kind: slow})
		} else if e.skipped {
			story.skip(verdict{kind: slow})
		}
	}
	s.longest = nil
}
