package slowspan

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// feed has Spans take a history of one event each 100 ns up to 2000, in batches, and spans of the
// given begins and lengths, each behind the batch in which it ended or before it.
func feed(s *Spans, early bool, spans [][2]int64) *result.Why {
	s.Story = &Story{}
	s.End = func(int32) event.Time { return 0 }
	s.Shapes = []*Shape{{Begin: 0, Delay: 1, Name: 2, Thread: 3}}
	stream := &event.Stream{Label: "call"}
	take := func(until event.Time) {
		for len(spans) > 0 && event.Time(spans[0][0]+spans[0][1]) <= until {
			slots := []event.Value{event.TimeOf(event.Time(spans[0][0])), event.DurationOf(spans[0][1]),
				event.StrOf("rest"), event.IntOf(7)}
			start := &event.Event{Stream: &event.Stream{Schema: &event.Schema{}}}
			Taker{s}.Events([]*event.Event{{Time: event.Time(spans[0][0] + spans[0][1]), Stream: stream,
				Derived: &event.Derived{Start: start, Slots: slots}}})
			spans = spans[1:]
		}
	}
	for at := event.Time(0); at <= 2000; at += 500 {
		var batch []*event.Event
		for i := event.Time(0); i < 500; i += 100 {
			batch = append(batch, &event.Event{Kind: event.Sample, Time: at + i})
		}
		if early {
			take(at + 499)
		}
		s.Events(batch)
		take(at + 499)
	}
	s.Rest()
	s.Conclude(&s.Choice)
	return s.Result(result.Meta{Name: "why"})
}

// TestSpansWaitForTheirHistory checks that spans are explained whether they come before the history
// of their time or behind it.
func TestSpansWaitForTheirHistory(t *testing.T) {
	list := [][2]int64{{100, 200}, {50, 700}, {800, 100}, {1990, 500}}
	for _, early := range []bool{false, true} {
		r := feed(&Spans{}, early, list)
		if r.Slow.Spans != 4 || r.Slow.NS != 1500 {
			t.Errorf("early %v: got %d spans of %d ns, want 4 of 1500", early, r.Slow.Spans, r.Slow.NS)
		}
		for _, s := range r.Slowest {
			if s.Task.TID != 7 || s.Label != "call: rest" {
				t.Errorf("got %q of thread %d", s.Label, s.Task.TID)
			}
		}
	}
	if r := feed(&Spans{Choice: Choice{Than: 200}}, true, list); r.Slow.Spans != 2 || r.Slow.NS != 1200 {
		t.Errorf("got %d slow spans of %d ns, want 2 of 1200", r.Slow.Spans, r.Slow.NS)
	}
}
