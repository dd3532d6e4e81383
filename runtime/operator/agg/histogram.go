package agg

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// histogram is the state of Hist and LHist: the counters, and the function that
// chooses one for a value.
type histogram struct {
	agg    *Agg
	bucket func(a *Agg, n event.Number) int
	counts []uint64
	marked []uint64 // a copy of the counters at the last Group.Mark; shorter if there were fewer then
	some   bool     // a value came since Reset
}

func (h *histogram) Add(n event.Number) {
	h.counts[h.bucket(h.agg, n)]++
	h.some = true
}

// Cell returns nothing: the counters are a result of their own.
func (h *histogram) Cell() event.Value { return event.Value{} }

func (h *histogram) Reset() {
	clear(h.counts)
	h.marked, h.some = h.marked[:0], false
}

func (h *histogram) Merge(o State) { h.add(o.(*histogram).counts) }

func (h *histogram) AddPartial(p *Partial, arg int) { h.add(p.Hists[arg]) }

func (h *histogram) add(counts []uint64) {
	for i, n := range counts {
		h.counts[i] += n
		h.some = h.some || n > 0
	}
}

// Histograms returns the rows of the i-th aggregator, which makes histograms.
func (g *Group) Histograms(i int) []result.KeyDistribution {
	keys := make([][]event.Value, len(g.rows))
	g.keys(keys)

	rows := make([]result.KeyDistribution, 0, len(g.rows))
	for r := range g.rows {
		if h := g.state(int32(r), i).(*histogram); h.some {
			sum := g.measures[r*len(g.spec.Args)+h.agg.Arg].Sum().Float()
			rows = append(rows, result.KeyDistribution{Key: keys[r],
				Distribution: result.Distribution{Buckets: h.agg.buckets(h.counts), Sum: sum}})
		}
	}

	slices.SortStableFunc(rows, func(a, b result.KeyDistribution) int {
		return slices.CompareFunc(a.Key, b.Key, event.Value.Compare)
	})
	return rows
}

// OtherHistogram is the histogram of the events whose keys found no room; false if all
// found room.
func (g *Group) OtherHistogram(i int) (result.KeyDistribution, bool) {
	if g.rest == nil || len(g.rest.rows) == 0 {
		return result.KeyDistribution{}, false
	}
	rows := g.rest.Histograms(i)
	if len(rows) == 0 { // evaluating the values of these events failed
		return result.KeyDistribution{}, false
	}
	rows[0].Key = g.otherKeys()
	return rows[0], true
}

// buckets removes empty counters at both ends and adds bounds to the others.
func (a *Agg) buckets(counts []uint64) []result.Bucket {
	first, last := len(counts), -1
	for i, n := range counts {
		if n > 0 {
			first, last = min(first, i), i
		}
	}

	var bs []result.Bucket
	for i := first; i <= last; i++ {
		lo, hi := a.Op.Bounds(a, i, len(counts))
		bs = append(bs, result.Bucket{Lo: lo, Hi: hi, Count: counts[i]})
	}
	return bs
}
