package agg

import (
	"math/rand/v2"
	"testing"

	"ppscript/runtime/event"
)

// Slots of a load that jumps, with events that come one by one: what is told of all the time is
// within its margins.
func TestEstimatesOfMarkedSlots(t *testing.T) {
	for column, name := range []string{"count", "sum"} {
		within(t, name, func(r *rand.Rand) (got, margin, want float64) {
			g := counts(t)
			rate := 50.0
			for slot := range 60 {
				if r.IntN(10) == 0 {
					rate = 20 + 200*r.Float64()
				}
				n := int(rate * (0.8 + 0.4*r.Float64()))
				g.Mark()
				g.AddPartial(partialOf(n))
				want += 4 * float64(n) * []float64{1, 10}[column]
				gap := 0.75
				if slot == 0 {
					gap = 0
				}
				g.Stretch(Slot{Factor: 4}, false)
				g.EndSlot(1, gap)
			}
			got, margin = total(g, column)
			return got, margin, want
		})
	}
}

// partialOf are n events of value 10.
func partialOf(n int) *Partial {
	m := ints(uint64(n), int64(10*n), 10, 10)
	return &Partial{Hits: uint64(n), Measures: []Measure{m, m}}
}

// What came before a mark counts once, and distributions are stretched with the counts.
func TestStretchIsSinceTheMark(t *testing.T) {
	spec := Spec{Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Quantile, Q: 0.5}, {Op: Count}}}
	g := New(spec)
	add := func(v int64, n int) {
		for range n {
			if len(g.rows) == 0 {
				g.fresh(0, &event.Event{})
			}
			g.measures[0].add(event.IntNumber(v))
			for _, s := range g.states {
				s.Add(event.IntNumber(v))
			}
		}
	}
	add(1, 100)
	g.Mark()
	add(1000, 30)
	g.Stretch(Slot{Factor: 10}, false)
	g.EndSlot(1, 0)
	g.Mark()
	if n := g.measures[0].N; n != 400 {
		t.Errorf("got %d events, want 100 and ten times 30", n)
	}
	if q := g.state(0, 0).Cell().Int(); q < 990 || q > 1010 {
		t.Errorf("got a median of %d, want that of the 300 that 30 stand for", q)
	}
	if n := g.state(0, 0).(*quantile).sketch.n; n != 400 {
		t.Errorf("got %d values in the distribution, want 400", n)
	}
	g.Reset()
	add(5, 7)
	g.Stretch(Slot{Factor: 3}, true)
	if n, far := g.measures[0].N, g.doubts.list[0].slots[0].now; n != 21 || far != 14 {
		t.Errorf("got %d events of which %v are estimated, want 21 and 14", n, far)
	}
}

// TestHistogramsStretch checks that histograms are stretched by counter.
func TestHistogramsStretch(t *testing.T) {
	h := New(Spec{Args: []Arg{{}}, Aggs: []Agg{{Op: Hist}}})
	h.fresh(0, &event.Event{})
	s := h.states[0].(*histogram)
	s.Add(event.IntNumber(5))
	h.Mark()
	s.Add(event.IntNumber(5))
	s.Add(event.IntNumber(100))
	h.Stretch(Slot{Factor: 4}, false)
	if got := [2]uint64{s.counts[4], s.counts[8]}; got != [2]uint64{5, 4} {
		t.Errorf("got %v, want 1 and four times 1, and four times 1", got)
	}
}
