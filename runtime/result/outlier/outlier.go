package outlier

import (
	"cmp"
	"math"
	"slices"

	"ppscript/runtime/result/chance"
)

// Level bounds the probability that any finding of one Test is wrong.
const Level = chance.Level

// Least is the smallest number of sources that can be compared.
const Least = chance.Least

// A Finding is a number of a source that differs from the other sources'
// numbers.
type Finding struct {
	Cell, Source  int
	Value, Median float64 // the median of the other sources
	Spread        float64 // the standard deviation of the other sources: a z of 1
	Z, P          float64
}

// A Cell has the values of one number on all sources; NaN if a source lacks it.
type Cell struct {
	Values []float64
	Counts bool      // the values count events
	Events []float64 // how many events each value is the sum of; nil if the values are no sums
}

// noise returns the smallest spread that chance causes among n sources, for the comparison of
// source i with the others. A count varies by its square root (Poisson), a sum by that number of
// events of mean size. At least one event is assumed, since a source without events could have got
// one by chance. For numbers that are neither counts nor sums, noise returns 0.
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
	if of == 0 { // only the judged source shows how large an event is
		if events[i] == 0 {
			return 0
		}
		each = math.Abs(c.Values[i]) / events[i]
	}
	return each * math.Sqrt(max(of/(n-1), 1))
}

// A Test compares the numbers of sources, cell by cell.
type Test struct {
	Compared       int // how many numbers were compared
	likely         []Finding
	sorted, others []float64
}

// suspect is the distance from the median of all sources, in deviations, from which a number gets
// the slower comparison with only the other sources.
const suspect = 1.5

// Add compares the values of a cell.
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
			f.Spread = meanDeviation(all, middle) // the others are all equal, so only this shows a scale
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

// freedom is the number of degrees of freedom of Student's t for each source that the MAD is
// computed from.
const freedom = 0.37

// Findings returns the numbers that differ by Holm's method, the least probable
// first.
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

// median returns the median of sorted numbers.
func median(list []float64) float64 {
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return list[n/2-1]/2 + list[n/2]/2
}

// deviation returns the median absolute deviation of sorted numbers from their median, scaled to
// the standard deviation of a normal distribution.
func deviation(list []float64, middle float64) float64 {
	// The nearest numbers are next to the median, on both sides. The loop visits them by
	// distance, like a merge of two sorted lists.
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

// meanDeviation returns the mean absolute deviation, scaled in the same way.
func meanDeviation(list []float64, middle float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += math.Abs(v - middle)
	}
	return 1.253314 * sum / float64(len(list))
}
