package outlier

import (
	"cmp"
	"math"
	"slices"

	"ppscript/runtime/result/chance"
)

// Level is the probability of any wrong finding in all that one Test compares.
const Level = chance.Level

// Least is how many sources must have a number before they are compared.
const Least = chance.Least

// A Finding is a number of a source that differs from those of the others.
type Finding struct {
	Cell, Source  int
	Value, Median float64 // the median of the other sources
	Spread        float64 // of the other sources: what a z of 1 stands for
	Z, P          float64
}

// A Cell is a number that each source has; NaN is nothing.
type Cell struct {
	Values []float64
	Counts bool      // they count events
	Events []float64 // of how many events each is the sum; nil for numbers that are no sums
}

// noise is the least spread that chance gives the numbers of n sources: the number of events that come
// to one varies by its root (Poisson), and a sum by that many events of the mean size. It is 0 for other
// numbers. A source that has no event yet could as well have one.
func (c *Cell) noise(i int, n float64) float64 {
	events := c.Events
	if c.Counts {
		events = c.Values
	}
	if events == nil {
		return 0
	}
	of, sum := 0.0, 0.0
	for k, v := range events {
		if k != i && !math.IsNaN(v) && !math.IsNaN(c.Values[k]) {
			of, sum = of+v, sum+math.Abs(c.Values[k])
		}
	}
	each := sum / of
	if of == 0 { // only the one that is judged tells how large an event is
		if events[i] == 0 {
			return 0
		}
		each = math.Abs(c.Values[i]) / events[i]
	}
	return each * math.Sqrt(max(of/(n-1), 1))
}

// A Test compares the numbers of sources, cell by cell.
type Test struct {
	Compared       int // numbers with those of the other sources
	likely         []Finding
	sorted, others []float64
}

// suspect is how many spreads, of all sources, a number must be away to be compared with the others'
// alone, which takes longer.
const suspect = 1.5

// Add compares what each source has in a cell.
func (t *Test) Add(cell int, c *Cell) {
	all := t.sorted[:0]
	sum := 0.0
	for _, v := range c.Values {
		if !math.IsNaN(v) {
			all = append(all, v)
			sum += v
		}
	}
	t.sorted = all
	if len(all) < Least {
		return
	}
	t.Compared += len(all)
	n := float64(len(all))
	slices.Sort(all)
	if all[0] == all[len(all)-1] {
		return // all are the same
	}
	middle := median(all)
	roughly := deviation(all, middle)
	for i, v := range c.Values {
		if math.IsNaN(v) || v == middle || math.Abs(v-middle) < suspect*roughly {
			continue
		}
		at, _ := slices.BinarySearch(all, v)
		t.others = append(append(t.others[:0], all[:at]...), all[at+1:]...)
		f := Finding{Cell: cell, Source: i, Value: v, Median: median(t.others)}
		f.Spread = deviation(t.others, f.Median)
		if f.Spread == 0 {
			f.Spread = meanDeviation(t.others, f.Median)
		}
		if f.Spread = max(f.Spread, c.noise(i, n)); f.Spread == 0 {
			f.Spread = meanDeviation(all, middle) // nothing else tells what is far
		}
		f.Z = (v - f.Median) / f.Spread
		if f.P = chance.Student(f.Z, freedom*(n-1)); f.P > Level {
			continue
		}
		if c.Counts {
			f.P = max(f.P, chance.Share(v, sum, n))
		}
		if f.P <= Level {
			t.likely = append(t.likely, f)
		}
	}
}

// freedom is how many degrees of freedom of Student's t each source gives whose numbers tell the MAD.
const freedom = 0.37

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

// median returns the median of numbers in order.
func median(list []float64) float64 {
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return list[n/2-1]/2 + list[n/2]/2
}

// deviation is the median absolute deviation of numbers in order from their median, as a standard deviation
// of normal ones.
func deviation(list []float64, middle float64) float64 {
	// The nearest are next to the median, on both sides: they are taken as two lists are merged.
	right, _ := slices.BinarySearch(list, middle)
	left := right - 1
	n := len(list)
	last, before := 0.0, 0.0
	for range n/2 + 1 {
		before = last
		if right == n || left >= 0 && middle-list[left] <= list[right]-middle {
			last = middle - list[left]
			left--
		} else {
			last = list[right] - middle
			right++
		}
	}
	const normal = 1.482602
	if n%2 == 1 {
		return normal * last
	}
	return normal * (before/2 + last/2)
}

// meanDeviation is the mean absolute deviation, likewise.
func meanDeviation(list []float64, middle float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += math.Abs(v - middle)
	}
	return 1.253314 * sum / float64(len(list))
}
