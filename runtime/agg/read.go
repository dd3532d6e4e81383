package agg

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/key"
	"ppscript/runtime/result"
)

// Rows returns the groups in the order in which they first appeared: the key
// columns, then the aggregates. Aggregates of nothing are empty cells, except
// counts and sums, which are 0. A Group without keys has one row, always.
func (g *Group) Rows() [][]event.Value {
	width := len(g.spec.Keys) + len(g.spec.Aggs)
	n := len(g.rows)
	if len(g.spec.Keys) == 0 {
		n = 1
	}
	cells := make([]event.Value, n*width)
	rows := make([][]event.Value, n)
	for r := range rows {
		rows[r] = cells[r*width : r*width : (r+1)*width]
	}
	g.keys(rows)
	for r := range rows {
		for i := range g.spec.Aggs {
			rows[r] = append(rows[r], g.cell(r, i))
		}
	}
	return rows
}

// keys appends the key columns to rows.
func (g *Group) keys(rows [][]event.Value) {
	switch {
	case g.ints != nil:
		p := g.spec.Keys[0].Any()
		g.ints.Each(func(k int64, r int32) {
			rows[r] = append(rows[r], key.ValueOf(p, k))
		})
	case g.texts != nil:
		g.texts.Each(func(k []byte, r int32) {
			for _, f := range g.spec.Keys {
				var v event.Value
				v, k = key.Take(k, f.Any())
				rows[r] = append(rows[r], v)
			}
		})
	}
}

func (g *Group) cell(r, i int) event.Value {
	a := &g.spec.Aggs[i]
	var m measure
	if r < len(g.rows) {
		m = g.measures[r*len(g.spec.Args)+a.Arg]
	}
	switch a.Op {
	case Count:
		return event.IntOf(int64(m.n))
	case Sum:
		return a.value(m.sum)
	}
	if m.n == 0 {
		return event.Value{}
	}
	switch a.Op {
	case Min:
		return a.value(m.min)
	case Max:
		return a.value(m.max)
	case Avg:
		return a.value(m.sum / int64(m.n))
	}
	x := &g.extras[r][i]
	switch a.Op {
	case Quantile:
		return a.value(x.sketch.Quantile(a.Q))
	case Distinct:
		return event.IntOf(int64(len(x.set)))
	case List:
		return event.ListOf(x.list...)
	case Top:
		return x.top.most(a.N)
	}
	return x.value
}

// Histograms returns the rows of the i-th aggregator, a Hist or LHist.
func (g *Group) Histograms(i int) []result.HistRow {
	keys := make([][]event.Value, len(g.rows))
	g.keys(keys)
	rows := make([]result.HistRow, 0, len(g.rows))
	for r := range g.rows {
		if x := &g.extras[r][i]; x.hist != nil {
			rows = append(rows, result.HistRow{Key: keys[r], Buckets: g.spec.Aggs[i].buckets(x.hist)})
		}
	}
	slices.SortStableFunc(rows, func(a, b result.HistRow) int {
		return slices.CompareFunc(a.Key, b.Key, event.Value.Compare)
	})
	return rows
}

// buckets cuts the empty ends off and gives the counters their bounds.
func (a *Agg) buckets(hist []uint64) []result.Bucket {
	first, last := len(hist), -1
	for i, n := range hist {
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	var bs []result.Bucket
	for i := first; i <= last; i++ {
		b := result.Bucket{Count: hist[i]}
		if a.Op == Hist {
			b.Lo, b.Hi = powerBounds(i)
		} else {
			b.Lo, b.Hi = a.linearBounds(i, len(hist))
		}
		bs = append(bs, b)
	}
	return bs
}

func powerBounds(i int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, 1
	case 63, 64:
		return 1 << 62, result.OpenHi
	}
	return 1 << (i - 1), 1 << i
}

func (a *Agg) linearBounds(i, n int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, a.Lo
	case n - 1:
		return a.Hi, result.OpenHi
	}
	lo = a.Lo + int64(i-1)*a.Step
	return lo, min(lo+a.Step, a.Hi)
}

// Loss returns what the result does not contain.
func (g *Group) Loss() event.Loss {
	return event.Loss{Errors: g.errs.N, Evicted: g.evicted}
}

// Errors returns the failed evaluations.
func (g *Group) Errors() *flow.Errors { return &g.errs }

// Seen is the number of events since the last Reset.
func (g *Group) Seen() uint64 { return g.events }

// Len is the number of rows.
func (g *Group) Len() int { return len(g.rows) }

// Reset starts a new interval: no rows, no losses. Memory that was of use is
// kept.
func (g *Group) Reset() {
	if g.ints != nil {
		g.ints.Reset()
	}
	if g.texts != nil {
		g.texts.Reset()
	}
	for r := range g.extras {
		for i := range g.extras[r] {
			g.extras[r][i].reset()
		}
	}
	clear(g.extras[len(g.extras):cap(g.extras)])
	g.rows, g.measures, g.extras = g.rows[:0], g.measures[:0], g.extras[:0]
	g.errs, g.evicted, g.events = flow.Errors{}, 0, 0
}

// Bytes is about the memory that quantiles take, of the rows of this interval
// and of those that wait for the next.
func (g *Group) Bytes() int {
	n := 0
	for _, row := range g.extras[:cap(g.extras)] {
		for i := range row {
			if s := row[i].sketch; s != nil {
				n += s.bytes()
			}
		}
	}
	return n
}
