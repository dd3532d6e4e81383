package agg

import (
	"math"
	"math/bits"
	"slices"

	"ppscript/runtime/result"
)

// This file estimates quantiles. A Sketch keeps the first few values as they
// are, so that small samples give exact answers, and then counts into
// log-linear buckets: every power of two is cut into 64 equal parts. A value
// is reported as the middle of its bucket, at most 1/128 (0.8 %) away from
// the true one. Buckets are the same in every Sketch, so Sketches add up, and
// the same as those that a BPF program can compute with a shift and a mask;
// that is why this is not one of the usual sketches, whose buckets need a
// logarithm.

const subBits = 6

// ExactValues is how many values are kept as they are.
const ExactValues = 64

// A Sketch estimates quantiles of int64 values. The zero Sketch is empty.
type Sketch struct {
	exact []int64
	n     uint64
	pos   buckets // values >= 0
	neg   buckets // values < 0, by magnitude
	min   int64
	max   int64
	// counted says that some values came as buckets, so that exact lacks
	// values even if there are few.
	counted bool
}

// buckets counts by bucket number, from first on.
type buckets struct {
	counts []uint64
	first  int
}

// Bucket is the number of the bucket of v >= 0.
func Bucket(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	e := bits.Len64(v) - subBits - 1
	return (e+1)<<subBits + int(v>>e)&(1<<subBits-1)
}

// bucketBounds returns the values lo <= v <= hi that fall in bucket b.
func bucketBounds(b int) (lo, hi uint64) {
	if b < 1<<subBits {
		return uint64(b), uint64(b)
	}
	e := b>>subBits - 1
	lo = (1<<subBits | uint64(b)&(1<<subBits-1)) << e
	return lo, lo + 1<<e - 1
}

// Add counts v.
func (s *Sketch) Add(v int64) {
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	// Slow path: few values, kept as they are.
	if s.n <= ExactValues && !s.counted {
		s.exact = append(s.exact, v)
		return
	}
	s.spread()
	s.count(v, 1)
}

// spread moves the exact values to their buckets.
func (s *Sketch) spread() {
	for _, x := range s.exact {
		s.count(x, 1)
	}
	s.exact = s.exact[:0]
}

// addBuckets adds values that were counted elsewhere: how many there are in
// each bucket, and the least and the greatest of them.
func (s *Sketch) addBuckets(least, greatest int64, buckets []BucketCount) {
	var n uint64
	for _, b := range buckets {
		n += b.N
	}
	if n == 0 {
		return
	}
	s.spread()
	s.counted = true
	for _, b := range buckets {
		if b.Negative {
			s.neg.add(b.Bucket, b.N)
		} else {
			s.pos.add(b.Bucket, b.N)
		}
	}
	if s.n == 0 || least < s.min {
		s.min = least
	}
	if s.n == 0 || greatest > s.max {
		s.max = greatest
	}
	s.n += n
}

func (s *Sketch) count(v int64, n uint64) {
	if v < 0 {
		s.neg.add(Bucket(uint64(-v)), n)
	} else {
		s.pos.add(Bucket(uint64(v)), n)
	}
}

func (b *buckets) add(i int, n uint64) {
	// Fast path: the range is there already.
	if j := i - b.first; uint(j) < uint(len(b.counts)) {
		b.counts[j] += n
		return
	}
	b.extend(i)
	b.counts[i-b.first] += n
}

// extend makes room for bucket i, and some more, since neighbours follow.
func (b *buckets) extend(i int) {
	const pad = 32
	lo, hi := max(0, i-pad), i+pad+1
	if len(b.counts) > 0 {
		lo, hi = min(lo, b.first), max(hi, b.first+len(b.counts))
	}
	grown := make([]uint64, hi-lo)
	if len(b.counts) > 0 {
		copy(grown[b.first-lo:], b.counts)
	}
	b.counts, b.first = grown, lo
}

// Merge adds all of o.
func (s *Sketch) Merge(o *Sketch) {
	if o.n == 0 {
		return
	}
	if o.n <= ExactValues && !o.counted {
		for _, v := range o.exact {
			s.Add(v)
		}
		return
	}
	s.spread()
	s.counted = true
	if s.n == 0 || o.min < s.min {
		s.min = o.min
	}
	if s.n == 0 || o.max > s.max {
		s.max = o.max
	}
	s.n += o.n
	for i, n := range o.pos.counts {
		if n > 0 {
			s.pos.add(o.pos.first+i, n)
		}
	}
	for i, n := range o.neg.counts {
		if n > 0 {
			s.neg.add(o.neg.first+i, n)
		}
	}
}

// Quantile returns the value below or at which a share q of the values lies:
// the value of rank ceil(q*n). It is exact up to 64 values, within 0.8 %
// beyond; 0 if there are none.
func (s *Sketch) Quantile(q float64) int64 {
	if s.n == 0 {
		return 0
	}
	rank := uint64(q*float64(s.n) + 0.9999999)
	rank = min(max(rank, 1), s.n)
	if s.n <= ExactValues && !s.counted {
		slices.Sort(s.exact)
		return s.exact[rank-1]
	}
	switch rank {
	case 1:
		return s.min
	case s.n:
		return s.max
	}
	for i := len(s.neg.counts) - 1; i >= 0; i-- {
		if n := s.neg.counts[i]; rank > n {
			rank -= n
		} else {
			return s.clamp(-middle(s.neg.first + i))
		}
	}
	for i, n := range s.pos.counts {
		if rank > n {
			rank -= n
		} else {
			return s.clamp(middle(s.pos.first + i))
		}
	}
	return s.max
}

// spreadBits is into how many parts a power of two is cut where a distribution is shown:
// 8, so that a bucket is at most 1/8 wide.
const spreadBits = 3

// Spread is the distribution of the values, in buckets of eighths of powers of two.
func (s *Sketch) Spread() []result.Bucket {
	s.spread()
	s.counted = s.counted || s.n > 0 // the exact values are gone
	var list []result.Bucket
	add := func(lo, hi int64, n uint64) {
		if last := len(list) - 1; last >= 0 && list[last].Lo == lo {
			list[last].Count += n
		} else {
			list = append(list, result.Bucket{Lo: lo, Hi: hi, Count: n})
		}
	}
	for i, n := range slices.Backward(s.neg.counts) {
		if n > 0 {
			lo, hi := eighth(s.neg.first + i)
			add(-int64(hi), -int64(lo)+1, n)
		}
	}
	for i, n := range s.pos.counts {
		if n > 0 {
			lo, hi := eighth(s.pos.first + i)
			add(int64(lo), upper(hi), n)
		}
	}
	return list
}

// upper is the bound of a bucket whose greatest value is v.
func upper(v uint64) int64 {
	if v >= math.MaxInt64 {
		return result.OpenHi
	}
	return int64(v) + 1
}

// eighth returns the values lo <= v <= hi of the part of a power of two, or of the number
// below 8, in which bucket b lies.
func eighth(b int) (lo, hi uint64) {
	from, _ := bucketBounds(b)
	if from < 1<<spreadBits {
		return from, from
	}
	width := uint64(1) << (bits.Len64(from) - 1 - spreadBits)
	lo = from &^ (width - 1)
	return lo, lo + width - 1
}

func middle(b int) int64 {
	lo, hi := bucketBounds(b)
	return int64(lo + (hi-lo)/2)
}

func (s *Sketch) clamp(v int64) int64 { return min(max(v, s.min), s.max) }

// Reset forgets all values. It keeps only the memory that was in use since
// the last Reset: a row serves another key in each interval, and if it kept
// the memory of its busiest key, all rows would grow to that size in the
// end.
func (s *Sketch) Reset() {
	s.pos.reset()
	s.neg.reset()
	if s.n < uint64(cap(s.exact)/4) {
		s.exact = nil
	}
	s.n, s.exact, s.counted = 0, s.exact[:0], false
}

func (b *buckets) reset() {
	if !slices.ContainsFunc(b.counts, func(n uint64) bool { return n > 0 }) {
		b.counts = nil
	}
	clear(b.counts)
}
