package order

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"slices"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// A script source shows more of its rings at each Poll.
type scriptSource struct {
	streams []*event.Stream
	rings   []event.Ring
	steps   [][]int // for each Poll, how much of each ring is visible
	lags    bool
	polls   int
	closed  bool
}

func (s *scriptSource) Streams() []*event.Stream { return s.streams }
func (s *scriptSource) Rings() []event.Ring      { return s.rings }
func (s *scriptSource) Lags() bool               { return s.lags }
func (s *scriptSource) Close() error             { s.closed = true; return nil }
func (s *scriptSource) Poll(context.Context, time.Duration) error {
	if s.polls >= len(s.steps) {
		return io.EOF
	}
	for i, n := range s.steps[s.polls] {
		s.rings[i].(*fakeRing).show(n)
	}
	s.polls++
	if s.polls == len(s.steps) {
		return io.EOF
	}
	return nil
}

func lagging(steps [][]int, times ...[]event.Time) *scriptSource {
	s := &scriptSource{steps: steps, lags: true}
	for _, t := range times {
		s.rings = append(s.rings, &fakeRing{times: t})
	}
	return s
}

func TestSourcesThatLagWaitForEachOther(t *testing.T) {
	a := lagging([][]int{{2, 1}, {4, 1}}, []event.Time{10, 20, 50, 60}, []event.Time{15})
	b := lagging([][]int{{0}, {1}, {2}}, []event.Time{40, 70})
	src := Combine(a, b)
	m := NewMerge(src)
	var got trace
	if err := src.Poll(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	m.Round(got.sink, false)
	got.want(t, "") // b has shown nothing: its next event may be older
	src.Poll(context.Background(), 0)
	m.Round(got.sink, false)
	got.want(t, "0:10 1:15 0:20 2:40")
	if err := src.Poll(context.Background(), 0); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
	m.Round(got.sink, true)
	got.want(t, "0:50 0:60 2:70")
	if src.Close(); !a.closed || !b.closed {
		t.Error("got sources that are still open")
	}
}

// A source that fell silent holds the others up for a while, not for ever.
func TestSilentSourceIsNotWaitedForForEver(t *testing.T) {
	a := lagging([][]int{{3}, {3}, {3}, {3}, {3}}, []event.Time{10, 20, 50})
	b := lagging([][]int{{1}, {1}, {1}, {2}, {2}}, []event.Time{15, 30})
	src := Combine(a, b)
	m := NewMerge(src)
	clock := time.Unix(0, 0)
	m.holds.now = func() time.Time { return clock }
	var got trace
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "0:10 1:15"}, {time.Second, ""}, {1500 * time.Millisecond, "0:20 0:50"}, {0, "1:30"}} {
		clock = clock.Add(step.after)
		if err := src.Poll(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		m.Round(got.sink, false)
		got.want(t, step.want)
	}
	if late := m.Stats().Late; late != 1 {
		t.Errorf("got %d late, want 1", late)
	}
}

func TestCombinedStreamsAreNumberedAnew(t *testing.T) {
	st := func() []*event.Stream { return []*event.Stream{{Index: 0, Label: "x"}, {Index: 1, Label: "y"}} }
	a, b := &scriptSource{streams: st()}, &scriptSource{streams: st()}
	c := Combine(a, b)
	for i, s := range c.Streams() {
		if s.Index != i {
			t.Errorf("stream %d: got index %d", i, s.Index)
		}
	}
	if b.streams[1].Index != 1 {
		t.Error("got a stream of the source changed")
	}
	r := &partRing{Ring: &streamRing{st: b.streams[1]}, part: c.parts[1]}
	evs := make([]event.Event, 1)
	if r.Read(evs, 1); evs[0].Stream != c.Streams()[3] {
		t.Errorf("got stream %v, want the combined one", evs[0].Stream)
	}
}

type streamRing struct {
	fakeRing
	st *event.Stream
}

func (r *streamRing) Read(dst []event.Event, until uint64) int {
	dst[0] = event.Event{Stream: r.st}
	return 1
}

func TestCombinedIsSortedAndComplete(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		var want []event.Time
		var sources []event.Source
		for range 2 + rnd.Intn(3) {
			// All rings of a recording show events up to the same time.
			s := &scriptSource{lags: true}
			for range 1 + rnd.Intn(3) {
				f := &fakeRing{}
				at := event.Time(0)
				for range rnd.Intn(100) {
					at += event.Time(rnd.Intn(10))
					f.times = append(f.times, at)
				}
				want = append(want, f.times...)
				s.rings = append(s.rings, f)
			}
			for at, last := event.Time(0), false; !last; at += event.Time(rnd.Intn(200)) {
				last = at > 1000
				var step []int
				for _, r := range s.rings {
					step = append(step, upTo(r.(*fakeRing).times, at+1))
				}
				s.steps = append(s.steps, step)
			}
			sources = append(sources, s)
		}
		slices.Sort(want)
		src := Combine(sources...)
		m := NewMerge(src)
		var got []event.Time
		sink := func(evs []*event.Event) {
			for _, e := range evs {
				got = append(got, e.Time)
			}
		}
		for {
			err := src.Poll(context.Background(), 0)
			m.Round(sink, err != nil)
			if err != nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %d events, sorted %v; want %d in order", seed, len(got),
				slices.IsSorted(got), len(want))
		}
	}
}

func TestLiveSourcesAreLookedAtTwice(t *testing.T) {
	a := &scriptSource{
		rings: []event.Ring{&fakeRing{times: []event.Time{10, 30, 35}}},
		steps: [][]int{{1}, {2}, {3}, {3}, {3}},
	}
	b := &scriptSource{
		rings: []event.Ring{&fakeRing{times: []event.Time{20, 40}}},
		steps: [][]int{{1}, {2}, {2}, {2}, {2}},
	}
	src := Combine(a, b)
	src.Poll(context.Background(), 0)
	for i, want := range [][2]uint64{{1, 2}, {1, 2}} {
		if k, v := src.Rings()[i].Bounds(); k != want[0] || v != want[1] {
			t.Errorf("ring %d: got known %d visible %d, want %d and %d", i, k, v, want[0], want[1])
		}
	}
	var got trace
	NewMerge(src).Round(got.sink, false)
	got.want(t, "0:10 1:20")
}
