package metric

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// A histogram is a metric with a distribution for each row.
type histogram struct {
	metric string
	help   string
	unit   Unit
	// fine says that buckets are eighths of powers of two. Classic buckets then become
	// halves of powers of two, since each of them is a series.
	fine   bool
	bounds map[int64]struct{} // all bounds of classic buckets seen so far
	rows   []*counts          // by row; nil for rows without a distribution
}

type counts struct {
	n   uint64
	sum float64 // in the unit of the result
	at  map[span]uint64
}

// A span is the range of values lo <= v < hi.
type span struct{ lo, hi int64 }

// distribution returns the metric of a column of distributions; a group has at
// most one.
func (g *group) distribution(value *result.Column, fine bool) *histogram {
	if len(g.hists) == 0 {
		word := value.Name
		if strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" ()[]:,", r) }) {
			word = "value" // it is the source of a function
		}
		h := &histogram{
			unit: unitOf(value.Unit, event.Value{}), fine: fine, help: g.help("distribution of " + word),
			bounds: map[int64]struct{}{},
		}
		if word = nameWord(word); word == "hist" {
			word = ""
		}
		name := notReserved(g.metric(word))
		if by, taken := g.script.store.names[name+h.unit.suffix()]; taken && by != g.owner("distribution") {
			name += "_distribution"
		}
		h.metric = g.script.store.claim(name, h.unit.suffix(), g.owner("distribution"))
		g.hists = append(g.hists, h)
	}
	return g.hists[0]
}

func (h *histogram) take(at int, d *result.Distribution) {
	for len(h.rows) <= at {
		h.rows = append(h.rows, nil)
	}
	c := h.rows[at]
	if c == nil {
		c = &counts{at: map[span]uint64{}}
		h.rows[at] = c
	}
	c.sum += d.Sum
	for _, b := range d.Buckets {
		if b.Count == 0 {
			continue
		}
		s := span{b.Lo, b.Hi}
		c.at[s] += b.Count
		c.n += b.Count
		if h.fine {
			s = s.half()
		}
		h.bounds[s.lo], h.bounds[s.hi] = struct{}{}, struct{}{}
	}
}

// half returns the half of a power of two that contains a span of an eighth.
func (s span) half() span {
	if s.lo < 4 {
		return s
	}
	width := int64(1) << (bits.Len64(uint64(s.lo)) - 2)
	lo := s.lo &^ (width - 1)
	if hi := lo + width; hi > lo {
		return span{lo, hi}
	}
	return span{lo, result.OpenHi}
}

func (h *histogram) snapshot(g *group) Family {
	f := Family{Name: h.metric, Help: h.help, Kind: Distribution, Unit: h.unit, Labels: g.labels}
	delete(h.bounds, result.OpenLo)
	delete(h.bounds, result.OpenHi)
	bounds := slices.Sorted(maps.Keys(h.bounds))
	upper := make([]float64, len(bounds))
	for i, b := range bounds {
		upper[i] = h.unit.of(float64(b - 1)) // inclusive, since the values are whole numbers
	}
	for at, c := range h.rows {
		if c != nil {
			f.Series = append(f.Series, Series{Labels: g.values[at], Hist: c.hist(h.unit, bounds, upper)})
		}
	}
	return f
}

// A Hist is a distribution in the unit of its metric.
type Hist struct {
	Count uint64
	Sum   float64
	// Upper are the inclusive upper bounds of classic buckets, and Below the number of
	// values up to each. All series of a metric have the same bounds.
	Upper []float64
	Below []uint64

	per   float64 // the unit's Per
	spans []spanCount
}

type spanCount struct {
	span
	n uint64
}

func (c *counts) hist(u Unit, bounds []int64, upper []float64) *Hist {
	h := &Hist{Count: c.n, Sum: u.of(c.sum), Upper: upper, Below: make([]uint64, len(bounds)), per: u.Per}
	for s, n := range c.at {
		h.spans = append(h.spans, spanCount{s, n})
		// The lowest bound that is not below the end of the span.
		if i, _ := slices.BinarySearch(bounds, s.hi); i < len(bounds) {
			h.Below[i] += n
		}
	}
	slices.SortFunc(h.spans, func(a, b spanCount) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(h.Below); i++ {
		h.Below[i] += h.Below[i-1]
	}
	return h
}

// Schema is the resolution of Exponential: 1<<Schema = 8 buckets for each power
// of two.
const Schema = 3

// An Exponential is a distribution in the buckets of Prometheus' native histograms, and of
// OTLP's exponential ones: bucket i has the values above base^(i-1) up to base^i, where
// base is 2^(1/8). Negative has the negative values by magnitude.
type Exponential struct {
	Zero               uint64
	Positive, Negative map[int]uint64
}

// Exponential converts the distribution to these buckets. Our buckets begin at powers of two
// of ns or bytes, which are not powers of two of seconds. So the values of a wide bucket are
// spread over the buckets that it covers; each is wrong by less than the width of its old
// bucket. The values of an open bucket are counted at its bound.
func (h *Hist) Exponential() Exponential {
	e := Exponential{Positive: map[int]uint64{}, Negative: map[int]uint64{}}
	for _, s := range h.spans {
		points := s.points()
		// Values are dealt to the points in turn, in the order of order. So no bucket
		// shrinks when more values come.
		for k, v := range points {
			n := s.n / uint64(len(points))
			if order(k, len(points)) < s.n%uint64(len(points)) {
				n++
			}
			if n > 0 {
				e.add(v/h.per, n)
			}
		}
	}
	return e
}

// order returns the position of point k of n in the order in which points get values.
// Successive points are far from each other.
func order(k, n int) uint64 {
	if n == 8 {
		return uint64(bits.Reverse8(uint8(k)) >> 5)
	}
	return uint64((k + n/2) % n)
}

func (e *Exponential) add(v float64, n uint64) {
	switch {
	case v > 0:
		e.Positive[index(v)] += n
	case v < 0:
		e.Negative[index(-v)] += n
	default:
		e.Zero += n
	}
}

// index returns the number of the bucket that contains v.
func index(v float64) int {
	const parts = 1 << Schema
	frac, exp := math.Frexp(v) // v = frac * 2^exp, 0.5 <= frac < 1
	if frac == 0.5 {
		return (exp - 1) * parts // avoids an error of rounding
	}
	return int(math.Ceil((math.Log2(frac) + float64(exp)) * parts))
}

// points returns up to eight values that represent a span.
func (s span) points() []float64 {
	switch {
	case s.lo == result.OpenLo:
		return []float64{float64(s.hi - 1)}
	case s.hi == result.OpenHi:
		return []float64{float64(s.lo)}
	}
	lo, hi := float64(s.lo), float64(s.hi)
	if width := s.hi - s.lo; width <= 8 {
		list := make([]float64, width)
		for i := range list {
			list[i] = lo + float64(i)
		}
		return list
	}
	if s.lo > 0 && hi/lo < 1.2 || s.hi < 0 && lo/hi < 1.2 {
		return []float64{(lo + hi) / 2}
	}
	list := make([]float64, 8)
	for i := range list {
		part := (float64(i) + 0.5) / 8
		if s.hi == 2*s.lo {
			list[i] = lo * math.Exp2(part)
		} else {
			list[i] = lo + (hi-lo)*part
		}
	}
	return list
}
