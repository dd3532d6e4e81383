package order

import (
	"context"
	"math/rand"
	"slices"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// drainAll polls and merges until the end.
func drainAll(t *testing.T, src event.Source, m *Merge) (times []event.Time) {
	t.Helper()
	for range 10000 {
		err := src.Poll(context.Background(), 0)
		m.Round(func(evs []*event.Event) {
			for _, e := range evs {
				times = append(times, e.Time)
			}
		}, err != nil)
		if err != nil {
			return times
		}
	}
	t.Fatal("the source has no end")
	return nil
}

// jumbled is a stream in which events are late by less than window.
func jumbled(rnd *rand.Rand, n int, window event.Time) *scriptSource {
	var times []event.Time
	for i := range n {
		times = append(times, event.Time(1000+i*10)-event.Time(rnd.Int63n(int64(window))))
	}
	s := lagging(nil, times)
	for shown := 0; shown < n; shown += 1 + rnd.Intn(50) {
		s.steps = append(s.steps, []int{shown})
	}
	s.steps = append(s.steps, []int{n})
	return s
}

func TestSortedPutsRightWhatIsLateByLessThanTheWindow(t *testing.T) {
	for seed := int64(1); seed <= 50; seed++ {
		s := jumbled(rand.New(rand.NewSource(seed)), 500, 100)
		want := slices.Clone(s.rings[0].(*fakeRing).times)
		slices.Sort(want)
		src := NewSorted(s, SortOptions{Window: 100})
		m := NewMerge(src)
		if got := drainAll(t, src, m); !slices.Equal(got, want) || m.Stats().Late != 0 || src.Early() != 0 {
			t.Fatalf("seed %d: got %d events, sorted %v, %d late, %d early; want %d sorted", seed, len(got), slices.IsSorted(got), m.Stats().Late, src.Early(), len(want))
		}
	}
}

func TestSortedCountsWhatIsTooLate(t *testing.T) {
	s := lagging([][]int{{3}, {4}, {5}}, []event.Time{100, 300, 500, 150, 600})
	src := NewSorted(s, SortOptions{Window: 200})
	m := NewMerge(src)
	got := drainAll(t, src, m)
	if want := []event.Time{100, 150, 300, 500, 600}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: 150 came in time", got, want)
	}
	s = lagging([][]int{{3}, {4}, {5}}, []event.Time{100, 300, 600, 150, 700})
	src = NewSorted(s, SortOptions{Window: 200})
	m = NewMerge(src)
	if got := drainAll(t, src, m); len(got) != 5 || m.Stats().Late != 1 {
		t.Errorf("got %v and %d late, want all and one late", got, m.Stats().Late)
	}
}

func TestSortedHoldsNoMoreThanItsBound(t *testing.T) {
	s := jumbled(rand.New(rand.NewSource(1)), 5000, 100)
	src := NewSorted(s, SortOptions{Window: time.Hour, LimitBytes: 200 * 128})
	m := NewMerge(src)
	got := drainAll(t, src, m)
	if len(got) != 5000 || src.Early() < 4000 || src.PeakBytes() > 201*128 {
		t.Errorf("got %d events, %d early, %d bytes at most; want 5000, most of them early, 200 events held", len(got), src.Early(), src.PeakBytes())
	}
	if m.Stats().Late != 0 {
		t.Errorf("got %d late, want none: 200 events are more than the lateness", m.Stats().Late)
	}
}

func TestSortedReusesItsCopies(t *testing.T) {
	f := &fakeRing{times: make([]event.Time, 1<<16)}
	for i := range f.times {
		f.times[i] = event.Time(i)
	}
	src := NewSorted(&scriptSource{rings: []event.Ring{f}, steps: slices.Repeat([][]int{{0}}, 1<<10)}, SortOptions{Window: 100})
	s := src.src.(*scriptSource)
	m := NewMerge(src)
	sink := func([]*event.Event) {}
	n := 0
	round := func() {
		n += 500
		s.steps[s.polls][0] = n
		src.Poll(context.Background(), 0)
		m.Round(sink, false)
	}
	for range 20 {
		round()
	}
	if a := testing.AllocsPerRun(50, round); a != 0 {
		t.Errorf("got %v allocations a round, want 0", a)
	}
}
