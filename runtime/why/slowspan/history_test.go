package slowspan

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/why"
)

// memory keeps events as programs do: those before since were overwritten.
type memory struct {
	evs   []event.Event
	since event.Time
}

func (m *memory) Read(from event.Time) (evs []event.Event, since event.Time) {
	for _, e := range m.evs {
		if e.Time >= max(from, m.since) {
			evs = append(evs, e)
		}
	}
	return evs, m.since
}

func (m *memory) Release() {}

func (m *memory) Now() event.Time {
	if len(m.evs) == 0 {
		return 1
	}
	return m.evs[len(m.evs)-1].Time
}

// happen adds events at some times; they are told apart by their CPUs.
func (m *memory) happen(times ...event.Time) {
	for _, at := range times {
		m.evs = append(m.evs, event.Event{Kind: event.Sample, Time: at, CPU: int32(len(m.evs))})
	}
}

func numbers(evs iter.Seq[*event.Event]) (list []int32) {
	if evs != nil {
		for e := range evs {
			list = append(list, e.CPU)
		}
	}
	return list
}

// TestHistoryIsReadOnce asks for the events around spans that follow each other: none is given twice, none is
// left out, and all are given anew where some between are missing or a loss before is told late.
func TestHistoryIsReadOnce(t *testing.T) {
	m := &memory{}
	story := &Story{}
	s := &Sink{teller: teller{story: story},
		Config: Config{Timeline: &join.Timeline{}, Before: 10, Story: story}}
	s.Timeline.FillFrom(m)
	f := func(from, to event.Time, onward bool, want ...int32) {
		t.Helper()
		h := s.history(from-event.Time(s.Before), to, s.gaps())
		got := numbers(h.Events)
		if h.Onward != onward || !slices.Equal(got, want) {
			t.Errorf("%d to %d: got events %v, onward %t, want %v, %t", from, to, got, h.Onward, want, onward)
		}
		h.Events = nil
		s.teller.explainer().Explain(why.Span{From: from, To: to, TID: 1}, h)
	}
	m.happen(5, 20, 30, 30)
	f(20, 30, false, 1, 2, 3)
	m.happen(30, 35, 40, 41)
	f(25, 40, true, 4, 5, 6) // the third event at 30 came later
	f(31, 38, true)          // it ended before: its events are there
	f(38, 41, true, 7)
	f(8, 41, false, 0, 1, 2, 3, 4, 5, 6, 7) // it began before what is there
	m.happen(50, 60, 100)
	f(30, 60, true, 8, 9)
	f(90, 100, false, 10) // nobody asked for what lies between
	m.happen(110, 120, 130)
	m.since = 115
	f(95, 130, false, 12, 13) // the event at 110 was overwritten
	m.happen(140)
	f(90, 140, true, 14) // older events are nowhere
	s.teller.gaps = append(s.teller.gaps, why.Gap{CPU: -1, From: 132, To: 133})
	f(131, 140, false, 13, 14)
	m.happen(150)
	s.teller.gaps = append(s.teller.gaps, why.Gap{CPU: -1, From: 145, To: 146})
	f(141, 150, true, 15)
}

// TestWaitingIsTold has spans wait while there is no time: they are told when there is, in the order of their
// ends, at the end of the run at the latest.
func TestWaitingIsTold(t *testing.T) {
	m := &memory{}
	story := &Story{Live: true}
	s := &Sink{teller: teller{story: story},
		Config: Config{Timeline: &join.Timeline{}, Before: 10, Story: story}}
	s.Timeline.FillFrom(m)
	m.happen(10, 20, 30, 40)
	for i, span := range []why.Span{{From: 15, To: 40}, {From: 12, To: 20}, {From: 22, To: 30}} {
		span.TID, span.Label = 1, fmt.Sprint("span ", i)
		s.waiting = append(s.waiting, waiting{span, verdict{kind: slow}})
	}
	s.Rest()
	if slow := s.Sum.Result("why").Slow; slow.Spans != 3 || slow.NS != 25+8+8 || len(s.waiting) > 0 {
		t.Errorf("got %d spans of %d ns, and %d that wait, want all 3 of 41 ns", slow.Spans, slow.NS,
			len(s.waiting))
	}
}

// TestTheLongestWait gives up the shortest spans where too many wait.
func TestTheLongestWait(t *testing.T) {
	s := &Sink{Config: Config{Story: &Story{}}}
	for i := range 10 {
		s.waiting = append(s.waiting, waiting{why.Span{To: event.Time(1 + i*7%10)}, verdict{kind: slow}})
	}
	s.thin()
	for _, w := range s.waiting {
		if w.span.To < 6 {
			t.Errorf("got a span of %d ns waiting, want those of 6 and more", w.span.To)
		}
	}
	if w := s.Sum.Result("why"); w.Skipped != 5 || len(s.waiting) != 5 {
		t.Errorf("got %d given up and %d that wait, want 5 and 5", w.Skipped, len(s.waiting))
	}
}
