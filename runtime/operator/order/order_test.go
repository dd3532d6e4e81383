package order

import (
	"context"
	"math/rand"
	"slices"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// fakeRing holds the times of its records; a record is visible to a Poll that
// happens after its publication.
type fakeRing struct {
	times          []event.Time
	kinds          map[int]event.RecordKind
	known, visible uint64
	pos, released  uint64
}

func (r *fakeRing) Bounds() (known, visible uint64) { return r.known, r.visible }
func (r *fakeRing) Pos() uint64                     { return r.pos }
func (r *fakeRing) Release()                        { r.released = r.pos }
func (r *fakeRing) Read(dst []event.Event, until uint64) int {
	n := 0
	for ; n < len(dst) && r.pos < until; n++ {
		dst[n] = event.Event{Time: r.times[r.pos], Kind: r.kinds[int(r.pos)]}
		r.pos++
	}
	return n
}

type fakeSource struct{ rings []event.Ring }

func (s *fakeSource) Streams() []*event.Stream                  { return nil }
func (s *fakeSource) Rings() []event.Ring                       { return s.rings }
func (s *fakeSource) Poll(context.Context, time.Duration) error { return nil }
func (s *fakeSource) Close() error                              { return nil }
func (s *fakeSource) look(at event.Time, inFlight int, r *rand.Rand) {
	// The first look sees the records that were published by at; while the
	// second look is taken, some more records arrive.
	for _, ring := range s.rings {
		f := ring.(*fakeRing)
		f.known = max(f.visible, uint64(upTo(f.times, at)))
		f.visible = min(f.known+uint64(r.Intn(inFlight+1)), uint64(len(f.times)))

	}
}

// newest is the time of the newest visible record: the clock has passed it
// when the next look is taken.
func (s *fakeSource) newest() event.Time {
	var t event.Time
	for _, ring := range s.rings {
		if f := ring.(*fakeRing); f.visible > 0 {
			t = max(t, f.times[f.visible-1])
		}
	}
	return t
}

func upTo(times []event.Time, t event.Time) int {
	i, _ := slices.BinarySearch(times, t)
	return i
}

func TestMergeIsSortedAndComplete(t *testing.T) {
	for seed := int64(1); seed <= 30; seed++ {
		r := rand.New(rand.NewSource(seed))
		rings := 1 + r.Intn(256)
		src := &fakeSource{}
		var want []event.Time
		for range rings {
			f := &fakeRing{}
			now := event.Time(1)
			for range r.Intn(600) {
				now += event.Time(r.Intn(50))
				f.times = append(f.times, now)
			}
			want = append(want, f.times...)
			src.rings = append(src.rings, f)
		}
		slices.Sort(want)
		m := NewMerge(src)
		var got []event.Time
		sink := func(evs []*event.Event) {
			for _, e := range evs {
				got = append(got, e.Time)
			}
		}
		for at := event.Time(500); at < 30000; at = max(at, src.newest()) + event.Time(1+r.Intn(5000)) {
			src.look(at, 5, r)
			before := len(got)
			m.Round(sink, false)
			known := 0
			for _, ring := range src.rings {
				known += int(ring.(*fakeRing).known)
			}
			if len(got) < known {
				t.Fatalf("seed %d: got %d events after a round (%d before), want at least the %d known", seed,
					len(got), before, known)
			}
		}
		src.look(event.MaxTime, 0, r)
		m.Round(sink, true)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %d events (sorted %v), want %d in order", seed, len(got),
				slices.IsSorted(got), len(want))
		}
		if s := m.Stats(); s.Late != 0 || s.Events != uint64(len(want)) {
			t.Errorf("seed %d: got %+v, want %d events and none late", seed, s, len(want))
		}
		for i, ring := range src.rings {
			if f := ring.(*fakeRing); f.released != f.pos {
				t.Errorf("seed %d ring %d: released %d of %d", seed, i, f.released, f.pos)
			}
		}
	}
}

func TestIdleRingDoesNotBlock(t *testing.T) {
	busy := &fakeRing{times: []event.Time{1, 2, 3}, known: 3, visible: 3}
	src := &fakeSource{rings: []event.Ring{&fakeRing{}, busy}}
	n := 0
	NewMerge(src).Round(func(evs []*event.Event) { n += len(evs) }, false)
	if n != 3 {
		t.Errorf("got %d events, want 3", n)
	}
}

func TestLateIsCountedAndDelivered(t *testing.T) {
	a := &fakeRing{times: []event.Time{10, 5, 20}, known: 3, visible: 3}
	m := NewMerge(&fakeSource{rings: []event.Ring{a}})
	var got []event.Time
	m.Round(func(evs []*event.Event) {
		for _, e := range evs {
			got = append(got, e.Time)
		}
	}, true)
	if !slices.Equal(got, []event.Time{10, 5, 20}) || m.Stats().Late != 1 {
		t.Errorf("got %v with %d late, want all three and 1 late", got, m.Stats().Late)
	}
}

func TestLossIsDatedToItsBegin(t *testing.T) {
	// Ring 0 loses records between 10 and 50; ring 1 shows one at 30.
	a := &fakeRing{
		times:   []event.Time{10, 50, 50},
		kinds:   map[int]event.RecordKind{1: event.Lost},
		known:   3,
		visible: 3,
	}
	b := &fakeRing{times: []event.Time{30}, known: 1, visible: 1}
	m := NewMerge(&fakeSource{rings: []event.Ring{a, b}})
	var kinds []event.RecordKind
	m.Round(func(evs []*event.Event) {
		for _, e := range evs {
			kinds = append(kinds, e.Kind)
		}
	}, true)
	want := []event.RecordKind{event.Sample, event.Lost, event.Sample, event.Sample}
	if !slices.Equal(kinds, want) {
		t.Errorf("got kinds %v, want %v: the loss before the record at 30", kinds, want)
	}
}

func TestRoundDoesNotAllocate(t *testing.T) {
	f := &fakeRing{times: make([]event.Time, 1<<16)}
	for i := range f.times {
		f.times[i] = event.Time(i + 1)
	}
	src := &fakeSource{rings: []event.Ring{f}}
	m := NewMerge(src)
	sink := func([]*event.Event) {}
	m.Round(sink, false)
	if n := testing.AllocsPerRun(50, func() {
		f.known, f.visible = f.visible+1000, f.visible+1000
		m.Round(sink, false)
	}); n != 0 {
		t.Errorf("got %v allocations a round, want 0", n)
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, rings := range []int{1, 2, 8, 64} {
		b.Run(map[int]string{1: "rings=1", 2: "rings=2", 8: "rings=8", 64: "rings=64"}[rings],
			func(b *testing.B) {
				src := &fakeSource{}
				for i := range rings {
					f := &fakeRing{}
					for j := range 4096 {
						f.times = append(f.times, event.Time(1+j*rings+i))
					}
					f.known, f.visible = 4096, 4096
					src.rings = append(src.rings, f)
				}
				n := 0
				b.ReportAllocs()
				for n < b.N {
					m := NewMerge(src)
					for _, r := range src.rings {
						r.(*fakeRing).pos = 0
					}
					m.Round(func(evs []*event.Event) { n += len(evs) }, true)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
			})
	}
}
