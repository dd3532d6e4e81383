package silence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

var schema = &event.Schema{System: "test", Name: "tick"}

// byTID is a Finder of threads that are silent for more than 10 ns.
func byTID(change func(s *Spec)) *Finder {
	f, _ := schema.Field("tid")
	s := Spec{Key: flow.NewFn([]*expr.Program{expr.Build(expr.NewField(f, expr.Self))}, 0), Than: 10}
	if change != nil {
		change(&s)
	}
	return New(s)
}

func at(tid int32, t event.Time, ring int32) *event.Event {
	return &event.Event{
		Kind: event.Sample, Stream: &event.Stream{Schema: schema}, TID: tid, Time: t, Ring: ring,
	}
}

func text(list []Silence) string {
	var parts []string
	for _, s := range list {
		over := ""
		if !s.Over {
			over = " still"
		}
		parts = append(parts, fmt.Sprintf("%v: %d to %d%s", s.Key, s.From, s.To, over))
	}
	return strings.Join(parts, "; ")
}

func TestSilences(t *testing.T) {
	f := byTID(nil)
	for _, e := range []*event.Event{
		at(1, 100, 0), at(1, 110, 0), at(1, 121, 0), at(2, 105, 0), at(2, 200, 1), at(1, 201, 0),
	} {
		f.Events([]*event.Event{e})
	}
	// Nobody knows yet what else there is before 201.
	if got, want := text(f.Take(200, 0)), "2: 105 to 200; 1: 110 to 121"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// It is told once; a key that is silent at the end is told then.
	want := "1: 121 to 201; 2: 200 to 215 still; 1: 201 to 215 still"
	if got := text(f.Take(event.MaxTime, 215)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A brute computes silences from all events of each key.
type brute map[int32][]event.Time

func (b brute) silences(than int64, end event.Time) []Silence {
	var list []Silence
	for tid, times := range b {
		slices.Sort(times)
		for i, from := range times {
			to, over := end, false
			if i+1 < len(times) {
				to, over = times[i+1], true
			}
			if int64(to-from) > than {
				list = append(list, Silence{event.IntOf(int64(tid)), from, to, over})
			}
		}
	}
	slices.SortFunc(list, func(a, b Silence) int {
		if a.Length() != b.Length() {
			return int(b.Length() - a.Length())
		}
		if a.From != b.From {
			return int(a.From - b.From)
		}
		return a.Key.Compare(b.Key)
	})
	return list
}

// Whatever the order of events, and however readers share them, the silences are
// those of all events.
func TestAnyOrderAndReaders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		all := brute{}
		readers := make([]*Finder, 1+r.IntN(3))
		for i := range readers {
			readers[i] = byTID(nil)
		}
		begin := event.Time(0)
		var got, want []Silence
		intervals := 1 + r.IntN(3)
		for i := range intervals {
			// All events of an interval come in it, in any order.
			for range r.IntN(40) {
				e := at(int32(r.IntN(4)), begin+event.Time(r.IntN(100)), 0)
				all[e.TID] = append(all[e.TID], e.Time)
				readers[r.IntN(len(readers))].Events([]*event.Event{e})
			}
			begin += 100
			for _, o := range readers[1:] {
				readers[0].Absorb(o)
			}
			end := event.Time(0)
			if i == intervals-1 {
				end = begin
			}
			got = append(got, readers[0].Take(begin, end)...)
		}
		want = all.silences(10, begin)
		// Those of several intervals, in one order.
		place := func(of Silence) int {
			return slices.IndexFunc(want, func(s Silence) bool {
				return s.From == of.From && s.Key.Compare(of.Key) == 0
			})
		}
		slices.SortFunc(got, func(a, b Silence) int { return place(a) - place(b) })
		if text(got) != text(want) {
			t.Fatalf("round %d, %d readers: got %s, want %s", round, len(readers), text(got), text(want))
		}
		if readers[0].Waiting() != 0 {
			t.Fatalf("round %d: got %d gaps that wait, want none", round, readers[0].Waiting())
		}
	}
}

// A silence that a loss may explain is not shown, but counted.
func TestLossBreaks(t *testing.T) {
	f := byTID(func(s *Spec) { s.LossEnd = func(int32) event.Time { return 130 } })
	f.Events([]*event.Event{at(1, 100, 0), at(2, 100, 1), at(2, 115, 1)})
	f.Lost(0, 3, 120)
	f.Events([]*event.Event{at(1, 140, 0), at(1, 200, 0), at(2, 200, 1)})
	if got, want := text(f.Take(event.MaxTime, 0)), "1: 140 to 200; 2: 100 to 115"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := f.Loss(); got != (event.Loss{Broken: 2}) {
		t.Errorf("got loss %+v, want 2 broken", got)
	}

	// Keys that do not span rings are touched by losses of their own.
	f = byTID(func(s *Spec) { s.ByRing = true })
	f.Events([]*event.Event{at(1, 100, 0), at(2, 100, 1)})
	f.Lost(0, 3, 100)
	f.Events([]*event.Event{at(1, 140, 0), at(2, 200, 1)})
	if got, want := text(f.Take(event.MaxTime, 0)), "2: 100 to 200"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEvicted checks that no silence is made up where states were given up.
func TestEvicted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shown := 0
	for range 300 {
		ordered := r.IntN(2) == 0
		readers := []*Finder{byTID(func(s *Spec) { s.Limit, s.Ordered = 24, ordered })}
		if !ordered {
			readers = append(readers, byTID(func(s *Spec) { s.Limit = 24 }))
		}
		all := brute{}
		var evs []*event.Event
		for range 200 {
			e := at(int32(r.IntN(40)), event.Time(r.IntN(300)), 0)
			all[e.TID] = append(all[e.TID], e.Time)
			evs = append(evs, e)
		}
		if ordered {
			slices.SortFunc(evs, func(a, b *event.Event) int { return int(a.Time - b.Time) })
		}
		for _, e := range evs {
			readers[r.IntN(len(readers))].Events([]*event.Event{e})
		}
		for _, o := range readers[1:] {
			readers[0].Absorb(o)
		}
		want := all.silences(10, 300)
		got := readers[0].Take(event.MaxTime, 300)
		shown += len(got)
		for _, s := range got {
			one := text([]Silence{s})
			if !slices.ContainsFunc(want, func(w Silence) bool { return text([]Silence{w}) == one }) {
				t.Fatalf("ordered %v: got %s, which is none", ordered, one)
			}
		}
		if l := readers[0].Loss(); l.Evicted == 0 || readers[0].Len() > 24 {
			t.Fatalf("got %d keys and loss %+v, want at most 24 keys and evicted ones", readers[0].Len(), l)
		}
	}
	if shown == 0 {
		t.Error("got no silences at all")
	}
}

// TestWaitingIsBounded checks that silences that wait are bounded: the shorter ones give way.
func TestWaitingIsBounded(t *testing.T) {
	f := byTID(nil)
	for i := range event.Time(maxGaps + 10) {
		f.Events([]*event.Event{at(1, i*(100+i), 0)})
	}
	if got := f.Waiting(); got > maxGaps || got == 0 {
		t.Errorf("got %d silences that wait, want at most %d", got, maxGaps)
	}
	longest := f.Take(event.MaxTime, 0)[0].Length()
	if n := event.Time(maxGaps + 9); longest != int64(n*(100+n)-(n-1)*(100+n-1)) {
		t.Errorf("the longest is %d ns", longest)
	}
	if got := f.Loss().Evicted; got < maxGaps/2-10 {
		t.Errorf("got %d evicted, want half of them", got)
	}
}

func TestLossesAreBounded(t *testing.T) {
	var l losses
	for i := range event.Time(4 * maxLosses) {
		l.add(int32(i%3), span{i * 10, i*10 + 1})
	}
	if len(l.list) > maxLosses {
		t.Errorf("got %d losses, want at most %d", len(l.list), maxLosses)
	}
	for i := range event.Time(4 * maxLosses) {
		if !l.touch(int32(i%3), span{i * 10, i*10 + 1}) {
			t.Fatalf("loss %d is forgotten", i)
		}
	}
}

func TestEventsDoNotAllocate(t *testing.T) {
	f := byTID(nil)
	now := event.Time(0)
	evs := []*event.Event{at(1, 0, 0), at(2, 0, 0), at(3, 0, 0)}
	f.Events(evs)
	if n := testing.AllocsPerRun(100, func() {
		now += 5
		for _, e := range evs {
			e.Time = now
		}
		f.Events(evs)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkFinder(b *testing.B) {
	for _, keys := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("keys/%d", keys), func(b *testing.B) {
			f := byTID(func(s *Spec) { s.Than = 1 << 40 })
			evs := make([]*event.Event, keys)
			for i := range evs {
				evs[i] = at(int32(i), event.Time(i), 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				f.Events(evs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(keys), "ns/event")
		})
	}
}
