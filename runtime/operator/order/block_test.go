package order

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"ppscript/runtime/event"
)

// reference is the definition of a merge: of all heads the oldest goes first,
// of equal ones that of the first ring.
func reference(rings [][]event.Time) []string {
	var got []string
	next := make([]int, len(rings))
	for {
		best := -1
		for i, times := range rings {
			if next[i] < len(times) && (best < 0 || times[next[i]] < rings[best][next[best]]) {
				best = i
			}
		}
		if best < 0 {
			return got
		}
		got = append(got, fmt.Sprintf("%d:%d", best, rings[best][next[best]]))
		next[best]++
	}
}

// TestMergeIsWhatIsDefined checks that times may be years apart, in runs of one ring or not, and
// out of order.
func TestMergeIsWhatIsDefined(t *testing.T) {
	for seed := int64(1); seed <= 60; seed++ {
		r := rand.New(rand.NewSource(seed))
		src := &fakeSource{}
		var rings [][]event.Time
		step := int64(1) << (r.Intn(2) * r.Intn(58))
		for range 1 + r.Intn(1+r.Intn(300)) {
			var times []event.Time
			at := event.Time(1<<41 + r.Int63n(step))
			for range r.Intn(200) {
				switch r.Intn(20) {
				case 0:
					at += event.Time(r.Int63n(step)) // another ring's turn
				case 1:
					at -= event.Time(r.Int63n(min(int64(at), 1<<40))) // late
				case 2: // as late as the one before
				default:
					at += event.Time(r.Int63n(1 + step/1000))
				}
				times = append(times, at)
			}
			rings = append(rings, times)
			src.rings = append(src.rings, &fakeRing{times: times})
		}
		want := reference(rings)
		m := NewMerge(src)
		var got trace
		for _, ring := range src.rings {
			f := ring.(*fakeRing)
			f.show(len(f.times))
		}
		m.Round(got.sink, false)
		if !slices.Equal(got.lines, want) {
			t.Fatalf("seed %d, %d rings, steps of %d: got %d events in another order than the %d wanted",
				seed, len(rings), step, len(got.lines), len(want))
		}
	}
}

// fullRing has records in memory until they are released, at most size.
type fullRing struct {
	fakeRing
	most uint64
}

func (r *fullRing) Read(dst []event.Event, until uint64) int {
	n := r.fakeRing.Read(dst, until)
	r.most = max(r.most, r.pos-r.released)
	return n
}

func TestMemoryIsReleasedOnTheWay(t *testing.T) {
	src := &fakeSource{}
	for i := range 40 {
		f := &fullRing{}
		for k := range 2000 {
			f.times = append(f.times, event.Time(1+k*40+i))
		}
		f.known, f.visible = 1000, 2000
		src.rings = append(src.rings, f)
	}
	m := NewMerge(src)
	m.Round(func([]*event.Event) {}, false)
	for i, ring := range src.rings {
		f := ring.(*fullRing)
		if f.most >= chunk+maxBlock || f.released < 1000 {
			t.Fatalf(
				"ring %d: got up to %d records held and %d released, want less than %d held and all that is known, 1000, released",
				i, f.most, f.released, chunk+64)
		}
	}
}

// deafRing has no records for us, although it has records.
type deafRing struct{ fakeRing }

func (r *deafRing) Read(dst []event.Event, until uint64) int {
	r.pos = max(r.pos, until)
	return 0
}

func TestRecordsForNobodyAreReleased(t *testing.T) {
	deaf := &deafRing{}
	m := NewMerge(&fakeSource{rings: []event.Ring{
		deaf, &fakeRing{times: []event.Time{5}, known: 1, visible: 1},
	}})
	for round := uint64(1); round <= 3; round++ {
		deaf.known, deaf.visible = round*100, round*100+10
		m.Round(func([]*event.Event) {}, false)
		if deaf.released != deaf.visible {
			t.Errorf("round %d: got %d released, want all %d", round, deaf.released, deaf.visible)
		}
	}
}

func TestLossAtTheEndOfABlockHasAnEnd(t *testing.T) {
	for at := range 3 * maxBlock {
		a := &fakeRing{kinds: map[int]event.RecordKind{at: event.Lost}}
		for i := range 4 * maxBlock {
			a.times = append(a.times, event.Time(10*i+10))
		}
		a.times[at] += 15 // stamped later than the record behind it
		a.show(len(a.times))
		var got trace
		NewMerge(&fakeSource{rings: []event.Ring{a, &fakeRing{}}}).Round(got.sink, true)
		if want := fmt.Sprintf("0:%d-%d", 10*at, 10*at+20); got.lines[at] != want {
			t.Fatalf("got a loss %s at record %d, want %s", got.lines[at], at, want)
		}
	}
}
