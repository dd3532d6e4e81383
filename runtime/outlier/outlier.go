package outlier

import (
	"cmp"
	"math"
	"slices"

	"ppscript/runtime/chance"
)

// Level is the probability of any wrong finding in all that one Test compares.
const Level = chance.Level

// Least is how many sources must have a number before they are compared.
const Least = chance.Least

// A Finding is a number of a source that differs from those of the others.
type Finding struct {
	Cell, Source  int
	Value, Median float64
	Spread        float64 // of the sources: what a z of 1 stands for
	Z, P          float64
}

// A Test compares the numbers of sources, cell by cell.
type Test struct {
	Compared int // numbers with those of the other sources
	likely   []Finding
	work     []float64
}

// Add compares what each source has in a cell; NaN is nothing. counts says that the numbers count events.
func (t *Test) Add(cell int, values []float64, counts bool) {
	all := t.work[:0]
	sum := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			all = append(all, v)
			sum += v
		}
	}
	t.work = all
	if len(all) < Least {
		return
	}
	t.Compared += len(all)
	n := float64(len(all))
	middle := median(all)
	absolute := 0.0
	for i, v := range all {
		all[i] = math.Abs(v - middle)
		absolute += all[i]
	}
	// The factors make both equal the standard deviation of a normal distribution.
	spread := 1.482602 * median(all)
	if spread == 0 {
		spread = 1.253314 * absolute / n
	}
	if spread == 0 {
		return // all are the same
	}
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		f := Finding{Cell: cell, Source: i, Value: v, Median: middle, Spread: spread,
			Z: (v - middle) / spread}
		if f.P = chance.Student(f.Z, 0.37*n); f.P > Level {
			continue
		}
		if counts {
			f.P = max(f.P, chance.Share(v, sum, n))
		}
		if f.P <= Level {
			t.likely = append(t.likely, f)
		}
	}
}

// Findings are the numbers that differ, by Holm's method, the least likely first.
func (t *Test) Findings() []Finding {
	slices.SortStableFunc(t.likely, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(math.Abs(b.Z), math.Abs(a.Z)))
	})
	p := make([]float64, len(t.likely))
	for i := range t.likely {
		p[i] = t.likely[i].P
	}
	for i, corrected := range chance.Holm(p, t.Compared) {
		if corrected > Level {
			return t.likely[:i]
		}
	}
	return t.likely
}

// median orders the numbers.
func median(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return list[n/2-1]/2 + list[n/2]/2
}
