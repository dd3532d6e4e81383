package overlap

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
)

// nowhere takes parts.
type nowhere struct{ n int }

func (x *nowhere) Events(evs []*event.Event)      { x.n += len(evs) }
func (x *nowhere) Lost(int32, uint64, event.Time) {}

// round are the events of a thread that is split by six others: 13 parts.
func round(x *fixture) (evs []*event.Event) {
	add := func(stream int) {
		evs = append(evs, &event.Event{Stream: x.streams[stream], TID: 1, Time: 1})
	}
	add(0)
	for range 3 {
		add(2)
		add(3)
		add(4)
		add(5)
	}
	add(1)
	return evs
}

// play plays a round at a time, and returns when it ends.
func (x *fixture) play(evs []*event.Event, at event.Time) event.Time {
	var one [1]*event.Event
	for _, e := range evs {
		at += 10
		e.Time = at
		for _, j := range x.joins {
			one[0] = e
			j.Events(one[:])
		}
	}
	return at
}

func TestSplittingDoesNotAllocate(t *testing.T) {
	x, to := newFixture(t, 0, "_tid"), &nowhere{}
	x.split.next = to
	evs, at := round(x), event.Time(0)
	for range 100 {
		at = x.play(evs, at)
	}
	to.n = 0
	if n := testing.AllocsPerRun(100, func() { at = x.play(evs, at) }); n != 0 {
		t.Errorf("got %v allocations for each round, want none", n)
	}
	if to.n != 101*13 {
		t.Errorf("got %d parts, want 13 of each round", to.n)
	}
}

// BenchmarkDuring is what each event of spans costs that are related and split; joins is the
// same without splitting.
func BenchmarkDuring(b *testing.B) {
	for _, split := range []bool{false, true} {
		name := map[bool]string{false: "joins", true: "split"}[split]
		b.Run(name+"/13parts/14events", func(b *testing.B) {
			x := newFixture(b, 0, "_tid")
			x.split.next = &nowhere{}
			if !split {
				x = unwatched(b, x)
			}
			evs, at := round(x), event.Time(0)
			b.ReportAllocs()
			for b.Loop() {
				at = x.play(evs, at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(evs)), "ns/event")
		})
	}
}

// unwatched is a fixture whose joins hand their spans to nobody.
func unwatched(t testing.TB, x *fixture) *fixture {
	for i := range x.joins {
		x.joins[i] = join.New(x.specs[i], x.split.next)
	}
	return x
}
