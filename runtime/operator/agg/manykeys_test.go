package agg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppscript/runtime/event"
)

// leftOut is a way in which a budget leaves events out, in a run that lasts for a time of 1.
type leftOut struct {
	name    string
	weights []uint64 // one after the other, for as long each
	slots   int      // then there are so many slots of time
	open    float64  // the part of the time in which there is a slot
}

// observe is what is told of a key with events at these times; nothing of a key that was not seen. hits are
// those of all keys with each weight.
func (o *leftOut) observe(r *rand.Rand, at []float64, shift float64, hits []float64) (n, margin float64,
	told bool) {
	g := New(Spec{Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}})
	parts := len(o.weights)
	if o.slots > 0 {
		parts++
	}
	length := 1 / float64(parts)
	next := 0
	until := func(end float64, take func()) {
		for ; next < len(at) && at[next] < end; next++ {
			take()
		}
	}
	for i, w := range o.weights {
		p := &Partial{Measures: make([]Measure, 1), Spreads: make([]Spread, 1)}
		until(length*float64(i+1), func() {
			if r.Uint64N(w) == 0 {
				p.Hits++
				p.Measures[0].N += w
				p.Spreads[0].N += float64(w * (w - 1))
			}
		})
		if p.Hits > 0 {
			g.AddPartial(p)
		}
		if w > 1 {
			g.Weighed(Force{Weight: float64(w), Hits: hits[i]})
		}
	}
	begin, each := length*float64(len(o.weights)), length/float64(max(o.slots, 1))
	for i := range o.slots {
		p := &Partial{Measures: make([]Measure, 1), Spreads: make([]Spread, 1)}
		from := begin + each*(float64(i)+shift*(1-o.open))
		until(from, func() {})
		until(from+each*o.open, func() { p.Hits++; p.Measures[0].N++ })
		if p.Hits > 0 {
			p.Scale(Slot{Factor: 1 / o.open})
			g.AddPartial(p)
		}
		g.EndSlot(each, each*(1-o.open))
	}
	if len(g.rows) == 0 {
		return 0, 0, false
	}
	row := g.table()
	if len(row) == 1 {
		return row[0].Float(), 0, true
	}
	return row[0].Float(), row[1].Float(), row[2].Kind == event.None
}

// Of many keys that events are left out of, keys that have a margin are within it in 95 of 100 cases: keys
// with few events and many, at any time or one after the other, most of which none was seen of.
func TestEstimatesOfManyKeys(t *testing.T) {
	keys, runs := 100, 3
	if testing.Short() {
		keys, runs = 50, 2
	}
	kinds := []struct {
		name string
		at   func(r *rand.Rand, key int) []float64
	}{
		{"at any time", func(r *rand.Rand, _ int) []float64 { return times(r, 623, 0, 1) }},
		{"one after the other", func(r *rand.Rand, key int) []float64 {
			return times(r, 623, float64(key)/float64(keys), 1/float64(keys))
		}},
		{"in some bursts", func(r *rand.Rand, _ int) (all []float64) {
			for range 1 + r.IntN(12) {
				all = append(all, times(r, 100, 0.99*r.Float64(), 0.01)...)
			}
			return all
		}},
		{"few and many", func(r *rand.Rand, _ int) []float64 {
			return times(r, int(math.Exp(9*r.Float64())), 0, 1)
		}},
		{"on and off", func(r *rand.Rand, _ int) (all []float64) {
			for at := 0.0; at < 1; at += 0.2 * r.ExpFloat64() {
				all = append(all, times(r, int(1000*r.ExpFloat64()), at, min(0.1*r.Float64(), 1-at))...)
			}
			return all
		}},
	}
	for _, o := range []leftOut{
		{name: "one weight", weights: []uint64{64}},
		{name: "all, then few", weights: []uint64{1, 1024}},
		{name: "many weights", weights: []uint64{1, 2, 16, 128, 1024, 256, 32, 4}},
		{name: "slots", slots: 60, open: 0.05},
		{name: "few slots", slots: 8, open: 0.02},
		{name: "all, then slots", weights: []uint64{1}, slots: 40, open: 0.1},
		{name: "weights, then slots", weights: []uint64{1, 32}, slots: 40, open: 0.1},
	} {
		for _, kind := range kinds {
			inside, shown, seen := 0, 0, 0
			for seed := range uint64(runs) {
				r := rand.New(rand.NewPCG(seed, 11))
				all := make([][]float64, keys)
				hits := make([]float64, len(o.weights))
				for k := range all {
					all[k] = kind.at(r, k)
					slices.Sort(all[k])
					for _, at := range all[k] {
						parts := len(o.weights) + min(o.slots, 1)
						if i := int(at * float64(parts)); i < len(hits) {
							hits[i]++
						}
					}
				}
				shift := r.Float64()
				for k := range all {
					n, margin, told := o.observe(r, all[k], shift, hits)
					if n > 0 {
						seen++
					}
					if !told {
						continue
					}
					if shown++; math.Abs(n-float64(len(all[k]))) <= margin {
						inside++
					}
				}
			}
			t.Logf("%s, keys %s: of %d rows %d have margins, %d are within", o.name, kind.name, seen, shown,
				inside)
			if shown > 20 && inside < shown*95/100 {
				t.Errorf("%s, keys %s: %d of %d are within their margins, want 95 of 100", o.name, kind.name,
					inside, shown)
			}
		}
	}
}

// times returns the times of so many events in a part of the run.
func times(r *rand.Rand, n int, from, length float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = from + length*r.Float64()
	}
	return list
}
