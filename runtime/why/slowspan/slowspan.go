// Package slowspan brings slow spans to package why, which says where their time went:
// it chooses the spans, finds the events around them, and holds to a budget. Package plan
// puts it behind joins; it opens nothing and shows nothing.
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

// A Choice says which spans are slow. The zero Choice is all.
type Choice struct {
	// Than takes the spans that are longer, in ns; Slowest this share of them, the longest, as
	// far as they are known by then. 0 of both takes all.
	Than    int64
	Slowest float64
	// Compare also has some of the others explained, the normal ones.
	Compare bool
}

const (
	// atFirst is how many spans tell what is slow, at least, if it is a share of them. The longest of these
	// are explained when they are all there, or when the run ends.
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
	Key           Subject
	Losses
}

// Subject says whose time a span is.
type Subject uint8

const (
	ByEnd  Subject = iota // of the thread that ends it
	ByDoer                // the key is the number of the thread that begins and ends it
	ByKey                 // the key is the number of the thread
)

// SubjectBy is whose spans are whose key is the number of a thread, or of the thread that is at
// work, or neither.
func SubjectBy(thread, doer bool) Subject {
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
	Errs    flow.Errors
	teller  teller
	slow    slowness
	next    event.Time // when the next normal span is explained
	frame   expr.Frame
	held    held
	waiting []waiting // for time to explain them
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

// explain has a span explained, now or when there is time for it.
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

// tellWaiting explains the spans that wait, in the order of their ends: each event around them is read once.
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

// thin gives up the shorter half of the spans that wait.
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

// doer is the thread in which a pair ends. Its number is the machine's, as the numbers in
// the fields of events are, where the event has it: the sample's own number is of a namespace.
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

// Rest explains what waits still, at the end of a run, and tells the longest spans if there were few.
func (s *Sink) Rest() {
	s.tellWaiting()
	s.slow.end(&s.Choice, s.Story)
}

// Lost implements flow.Sink.
func (s *Sink) Lost(ring int32, _ uint64, from event.Time) {
	s.teller.lost(from, s.End(ring), !s.Keep)
}

// A verdict is what is done with a span.
type verdict struct {
	kind  kind
	early *early // not nil only if the kind is among
}

type kind uint8

const (
	passes kind = iota // it is not explained
	normal             // it is not slow
	slow
	among // it is among the longest of the first spans, so far
)

// An early span is one of the first, which may turn out to be among the longest of these.
type early struct {
	ns      int64
	span    *result.WhySpan // explained; nil before that
	skipped bool            // there was no time to explain it
	slow    bool            // that it is among the longest is known
}

// A slowness tells which spans are slow.
type slowness struct {
	lengths agg.Sketch // of all spans, if a share of them is slow
	bound   int64      // what is slow then
	settle  uint64     // the number of spans at which the bound is looked up again
	spans   uint64
	longest []*early // of the first spans, the longest first
}

// judge decides about a span by its length. The first spans tell what is long: only when they are all there
// it is known which of them were the longest.
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

// share is how many of some spans are slow: one at least.
func share(c *Choice, spans uint64) int {
	return max(1, int(math.Ceil(c.Slowest*float64(spans)-1e-9)))
}

// end has the longest of the first spans among the slow ones: no more of these will come.
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
