package agg

import (
	"math"
	"math/bits"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file estimates quantiles. A Sketch keeps the first few values as they are,
// so that small samples give exact answers, and then counts into log-linear
// buckets: every power of two is cut into 64 equal parts. A value is reported as
// the middle of its bucket, at most 1/128 (0.8 %) away from the true value.
// Buckets are the same in every Sketch, so that Sketches add up. A BPF program
// computes the same buckets with a shift and a mask; the usual sketches would
// need a logarithm.

const subBits = 6

// ExactValues is the number of values that a Sketch keeps exactly.
const ExactValues = 64

// A Sketch estimates quantiles of numbers. The zero Sketch is empty.
type Sketch struct {
	exact []event.Number
	n     uint64
	pos   buckets // values >= 0
	neg   buckets // values < 0, by magnitude
	// floats says that a double came: buckets are then numbered by floatBucket, and zero counts the
	// zeros, which have no bucket.
	floats   bool
	zero     uint64
	min, max event.Number
	// counted says that some values came as buckets, so that exact lacks
	// values even if there are few.
	counted bool
	// integers says that all values so far are signed integers, and all are in
	// buckets.
	integers bool
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

// zeroBucket is the number used for 0 among buckets of doubles.
const zeroBucket = -1 << 20

// floatBucket is the number of the bucket of a double above 0. From 64 on, doubles and integers
// have the same buckets. Below, each integer has its own, and doubles have log-linear ones with
// negative numbers.
func floatBucket(v float64) int {
	part, e := math.Frexp(min(v, math.MaxFloat64))
	return (e-subBits)<<subBits + int(part*(2<<subBits)) - 1<<subBits
}

// floatBounds returns the values lo <= v < hi that fall in bucket b of doubles.
func floatBounds(b int) (lo, hi float64) {
	bound := func(b int) float64 {
		return math.Ldexp(float64(b&(1<<subBits-1)+1<<subBits)/(2<<subBits), b>>subBits+subBits)
	}
	return bound(b), bound(b + 1)
}

// Add counts v.
func (s *Sketch) Add(v event.Number) {
	// Fast path: a signed integer after many, all of them signed integers.
	if s.integers && v.Kind() == event.IntValue {
		x := v.Bits()
		if x < s.min.Bits() {
			s.min = v
		}
		if x > s.max.Bits() {
			s.max = v
		}
		s.n++
		if x < 0 {
			s.neg.add(Bucket(-uint64(x)), 1)
		} else {
			s.pos.add(Bucket(uint64(x)), 1)
		}
		return
	}
	s.integers = false
	s.bound(v, v)
	s.n++
	// Slow path: few values, kept as they are.
	if s.n <= ExactValues && !s.counted {
		s.exact = append(s.exact, v)
		return
	}
	s.spread()
	s.count(v, 1)
	s.integers = s.n > ExactValues && !s.floats && s.min.Kind() == event.IntValue &&
		s.max.Kind() == event.IntValue
}

// bound notes the least and the greatest of values that are about to be
// counted.
func (s *Sketch) bound(least, greatest event.Number) {
	if s.n == 0 || least.Less(s.min) {
		s.min = least
	}
	if s.n == 0 || s.max.Less(greatest) {
		s.max = greatest
	}
}

// spread moves the exact values to their buckets.
func (s *Sketch) spread() {
	for _, x := range s.exact {
		s.count(x, 1)
	}
	s.exact = s.exact[:0]
}

// addBuckets adds counters of another Sketch, by bucket of doubles or of
// integers, with the least and the greatest value.
func (s *Sketch) addBuckets(least, greatest event.Number, buckets []BucketCount, floats bool) {
	var n uint64
	for _, b := range buckets {
		n += b.N
	}
	if n == 0 {
		return
	}
	s.spread()
	s.counted, s.integers = true, false
	if floats {
		s.toFloats()
	}
	for _, b := range buckets {
		s.countBucket(b, floats)
	}
	s.bound(least, greatest)
	s.n += n
}

// countBucket adds the counter of one bucket.
func (s *Sketch) countBucket(b BucketCount, floats bool) {
	if s.floats && !floats {
		b.Bucket = asFloatBucket(b.Bucket)
	}
	switch {
	case b.Bucket == zeroBucket:
		s.zero += b.N
	case b.Negative:
		s.neg.add(b.Bucket, b.N)
	default:
		s.pos.add(b.Bucket, b.N)
	}
}

// asFloatBucket converts the number of a bucket of integers to the number of the
// same bucket for doubles.
func asFloatBucket(b int) int {
	switch {
	case b == 0:
		return zeroBucket
	case b < 1<<subBits:
		return floatBucket(float64(b))
	}
	return b
}

// toFloats renumbers all buckets as buckets of doubles.
func (s *Sketch) toFloats() {
	if s.floats {
		return
	}
	old := s.buckets()
	s.floats, s.pos, s.neg = true, buckets{}, buckets{}
	for _, b := range old {
		s.countBucket(b, false)
	}
}

// buckets lists the buckets that have values, from the least to the greatest.
func (s *Sketch) buckets() (list []BucketCount) {
	for i, n := range slices.Backward(s.neg.counts) {
		if n > 0 {
			list = append(list, BucketCount{Bucket: s.neg.first + i, Negative: true, N: n})
		}
	}
	if s.zero > 0 {
		list = append(list, BucketCount{Bucket: zeroBucket, N: s.zero})
	}
	for i, n := range s.pos.counts {
		if n > 0 {
			list = append(list, BucketCount{Bucket: s.pos.first + i, N: n})
		}
	}
	return list
}

func (s *Sketch) count(v event.Number, n uint64) {
	if v.Kind() == event.FloatValue {
		s.toFloats()
	}
	if !s.floats {
		size, negative := v.Magnitude()
		if negative {
			s.neg.add(Bucket(size), n)
		} else {
			s.pos.add(Bucket(size), n)
		}
		return
	}
	switch x := v.Float(); {
	case x == 0:
		s.zero += n
	case x < 0:
		s.neg.add(floatBucket(-x), n)
	default:
		s.pos.add(floatBucket(x), n)
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
	lo, hi := i-pad, i+pad+1
	if i >= 0 {
		lo = max(0, lo)
	}
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
	s.addBuckets(o.min, o.max, o.buckets(), o.floats)
}

// Quantile returns the value below or at which a share q of the values lies:
// the value of rank ceil(q*n). It is exact up to 64 values, within 0.8 %
// beyond; 0 if there are none.
func (s *Sketch) Quantile(q float64) event.Number {
	if s.n == 0 {
		return event.IntNumber(0)
	}
	rank := uint64(q*float64(s.n) + 0.9999999)
	rank = min(max(rank, 1), s.n)
	if s.n <= ExactValues && !s.counted {
		slices.SortFunc(s.exact, event.Number.Compare)
		return s.exact[rank-1]
	}
	switch rank {
	case 1:
		return s.min
	case s.n:
		return s.max
	}
	for _, b := range s.buckets() {
		if rank > b.N {
			rank -= b.N
		} else {
			return s.clamp(s.middle(b))
		}
	}
	return s.max
}

// middle is the number in the middle of a bucket.
func (s *Sketch) middle(b BucketCount) event.Number {
	if s.floats {
		x := 0.0
		if b.Bucket != zeroBucket {
			lo, hi := floatBounds(b.Bucket)
			x = lo + (hi-lo)/2
		}
		if b.Negative {
			x = -x
		}
		return event.FloatNumber(x)
	}
	lo, hi := bucketBounds(b.Bucket)
	v, kind := int64(lo+(hi-lo)/2), s.min.Kind()
	switch {
	case b.Negative:
		return event.NumberOf(kind, -v)
	case v < 0:
		kind = event.UintValue
	}
	return event.NumberOf(kind, v)
}

// spreadBits is the number of bits behind the leading one by which a shown distribution
// is cut: 3, so that a power of two has 8 buckets.
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
	for _, b := range s.buckets() {
		at := b.Bucket
		if s.floats { // by the whole part: bounds are integers
			size, _ := s.middle(b).Magnitude()
			if b.Negative {
				size = max(size, size+1)
			}
			at = Bucket(size)
		}
		lo, hi := eighth(at)
		if b.Negative {
			add(-upper(hi)+1, -upper(lo)+2, b.N)
		} else {
			add(int64(min(lo, 15<<59)), upper(hi), b.N) // the last bucket has no upper bound
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

// eighth returns the bounds lo <= v <= hi of the shown bucket that contains bucket b.
func eighth(b int) (lo, hi uint64) {
	from, _ := bucketBounds(b)
	if from < 1<<spreadBits {
		return from, from
	}
	width := uint64(1) << (bits.Len64(from) - 1 - spreadBits)
	lo = from &^ (width - 1)
	return lo, lo + width - 1
}

func (s *Sketch) clamp(v event.Number) event.Number {
	switch {
	case v.Less(s.min):
		return s.min
	case s.max.Less(v):
		return s.max
	}
	return v
}

// Reset forgets all values. It keeps only memory that was in use since the last
// Reset. A row serves another key in each interval: if it kept the memory of
// its busiest key, all rows would grow to that size.
func (s *Sketch) Reset() {
	s.pos.reset()
	s.neg.reset()
	if s.n < uint64(cap(s.exact)/4) {
		s.exact = nil
	}
	s.n, s.exact, s.counted, s.floats, s.integers, s.zero = 0, s.exact[:0], false, false, false, 0
}

func (b *buckets) reset() {
	if !slices.ContainsFunc(b.counts, func(n uint64) bool { return n > 0 }) {
		b.counts = nil
	}
	clear(b.counts)
}
