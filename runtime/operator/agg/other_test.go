package agg

import (
	"math/rand"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

// TestOtherKeepsTotals checks that with however few rows, those of a table and that of the other
// keys are sums over all events: also where readers share the events, programs count some of them,
// and intervals follow each other.
func TestOtherKeepsTotals(t *testing.T) {
	args := []Arg{{}, {Fn: fn(t, "val")}, {Fn: fn(t, "name")}, {Fn: fn(t, "val")}}
	aggs := []Agg{{Op: Count}, {Op: Sum, Arg: 1}, {Op: Max, Arg: 1}, {Op: Distinct, Arg: 3},
		{Op: Distinct, Arg: 2}}
	random := rand.New(rand.NewSource(1))
	for _, keys := range [][]*flow.Fn{{fn(t, "id")}, {fn(t, "name")}, {fn(t, "id"), fn(t, "name")}} {
		spec := Spec{Keys: keys, Args: args, Aggs: aggs, Limit: 3}
		plain := Spec{Keys: keys, Args: []Arg{{}}, Aggs: aggs[:1], Limit: 3} // the fast paths
		all, one, two := New(Spec{Args: args, Aggs: aggs}), New(spec), New(spec)
		counts := New(plain)
		for range 2 { // intervals
			var evicted uint64
			for i := range 500 {
				name := string(rune('a' + random.Intn(8)))
				e := []*event.Event{ev(stream, event.Time(i), int32(random.Intn(9)), random.Int63n(50), name)}
				all.Events(e)
				[]*Group{one, two}[i%2].Events(e)
				counts.Events(e)
			}
			one.Merge(two)
			one.AddPartial(&Partial{Other: true, Hits: 7,
				Measures: []Measure{{N: 7}, ints(7, 700, 100, 100), {}, {}}})
			one.AddLoss(event.Loss{Evicted: 7})
			rows, other, want := one.Rows(), one.Other(), all.Rows()[0]
			if len(rows) != 3 || other == nil || len(other) != len(keys)+len(aggs) {
				t.Fatalf("got %d rows and other %v, want 3 and one", len(rows), other)
			}
			for _, cell := range other[:len(keys)] {
				if cell.String() != OtherKey {
					t.Errorf("got key %v, want %s", cell, OtherKey)
				}
			}
			var n, sum int64
			for _, r := range append(rows, other) {
				n, sum = n+r[len(keys)].Int(), sum+r[len(keys)+1].Int()
			}
			if n != want[0].Int()+7 || sum != want[1].Int()+700 {
				t.Errorf("got %d events with a sum of %d, want %v and 7 with 700", n, sum, want)
			}
			evicted = one.Loss().Evicted
			if got := other[len(keys)]; got.Int() != int64(evicted) || other[len(keys)+2].Int() != 100 {
				t.Errorf("got %v events of other keys, %d evicted, at most %v", got, evicted,
					other[len(keys)+2])
			}
			n = 0
			for _, r := range append(counts.Rows(), counts.Other()) {
				n += r[len(keys)].Int()
			}
			if n != 500 {
				t.Errorf("got a count of %d, want 500", n)
			}
			for _, g := range []*Group{all, one, two, counts} {
				g.Reset()
				if g.Other() != nil || g.Loss().Evicted != 0 {
					t.Errorf("got %v after a reset", g.Other())
				}
			}
		}
	}
}
