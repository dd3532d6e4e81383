package why_test

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// busy is a machine's history of about n events, and a span of its last third for each thread.
func busy(n int) (*sim, []why.Span) {
	s := newSim(3, 4, 12)
	for len(s.evs) < n {
		s.step()
	}
	var spans []why.Span
	for _, t := range s.threads {
		spans = append(spans, why.Span{From: s.now * 2 / 3, To: s.now, TID: t.tid, PID: t.pid})
	}
	return s, spans
}

// One span with a history of 5,000 events.
func BenchmarkExplain(b *testing.B) {
	s, spans := busy(5000)
	x := why.New(why.Config{})
	h := why.History{Events: slices.Values(s.evs)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if len(x.Explain(spans[i%len(spans)], h).Parts) == 0 {
			b.Fatal("nothing was told")
		}
	}
}

// What adding an event costs, for spans that share their history.
func BenchmarkAdd(b *testing.B) {
	s, _ := busy(100_000)
	x := why.New(why.Config{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i == len(s.evs) {
			i = 0
			x.Reset(0)
		}
		x.Add(s.evs[i])
		i++
	}
}

// Spans of a history that was added once: each is 50 us long.
func BenchmarkTold(b *testing.B) {
	s, _ := busy(100_000)
	x := why.New(why.Config{})
	for _, e := range s.evs {
		x.Add(e)
	}
	var sum why.Sum
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t := s.threads[i%len(s.threads)]
		from := s.now/4 + event.Time(i*50_000)%(s.now/2)
		told := x.ExplainAdded(why.Span{From: from, To: from + 50_000, TID: t.tid, PID: t.pid})
		sum.Add(told, true)
	}
	if r := sum.Result("x"); r.Slow.Spans == 0 || r.Causes[0].Path[0].Kind == result.WhyUnknown {
		b.Error("nothing was told")
	}
}
