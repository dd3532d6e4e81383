package agg

import (
	"math"
	"math/bits"

	"ppscript/runtime/event"
)

// This file adds numbers up without overflow or loss of digits. Integers, signed or not, have a sum
// of 128 bits, which no number of events makes overflow. The sum of doubles is a pair of doubles,
// whose second one has the digits that the first has no room for (Knuth's sum without a branch): it
// is right to about 100 bits. A sum becomes a pair of doubles at the first double.

// A Measure holds the sums of an argument. Its numbers may be of several kinds: an interpreted function
// returns an integer here and a double there.
type Measure struct {
	N uint64
	// high and low are an integer of 128 bits, or the bits of two doubles.
	high, low int64
	min, max  int64
	// kind is the kind of all numbers so far, or several. The fields beside it are the kinds of the
	// sum and of the extremes.
	kind, sumKind, minKind, maxKind event.ValueKind
}

// several is the kind of a Measure with numbers of more than one kind.
const several = event.ValueKind(math.MaxUint8)

// NewMeasure is the Measure of n numbers with a sum and extremes.
func NewMeasure(n uint64, sum Total, least, greatest event.Number) Measure {
	m := Measure{N: n, high: sum.high, low: sum.low, min: least.Bits(), max: greatest.Bits(),
		kind: sum.kind, sumKind: sum.kind, minKind: least.Kind(), maxKind: greatest.Kind()}
	if m.minKind != m.kind || m.maxKind != m.kind {
		m.kind = several
	}
	return m
}

// Min is the least number; undefined if N is 0.
func (m *Measure) Min() event.Number { return event.NumberOf(m.minKind, m.min) }

// Max is the greatest number; undefined if N is 0.
func (m *Measure) Max() event.Number { return event.NumberOf(m.maxKind, m.max) }

// Sum returns the sum of all numbers.
func (m *Measure) Sum() Total { return Total{m.high, m.low, m.sumKind} }

func (m *Measure) setSum(s Total) {
	if m.high, m.low = s.high, s.low; m.sumKind != s.kind {
		m.sumKind, m.kind = s.kind, several
	}
}

// add adds one number.
func (m *Measure) add(n event.Number) {
	v, k := n.Bits(), n.Kind()
	if k != m.kind { // the sum before the first number is 0
		m.addOther(n)
		return
	}
	// Fast path: a number of the same kind as all before.
	m.N++
	switch k {
	case event.FloatValue:
		m.addFloat(n.Float())
		return
	case event.UintValue:
		low, carry := bits.Add64(uint64(m.low), uint64(v), 0)
		m.low, m.high = int64(low), m.high+int64(carry)
		if uint64(v) < uint64(m.min) {
			m.min = v
		}
		if uint64(v) > uint64(m.max) {
			m.max = v
		}
		return
	}
	low, carry := bits.Add64(uint64(m.low), uint64(v), 0)
	m.low, m.high = int64(low), m.high+v>>63+int64(carry)
	if v < m.min {
		m.min = v
	}
	if v > m.max {
		m.max = v
	}
}

func (m *Measure) addFloat(v float64) {
	s := m.Sum()
	s.addFloat(v)
	m.high, m.low = s.high, s.low
	if v < math.Float64frombits(uint64(m.min)) {
		m.min = int64(math.Float64bits(v))
	}
	if v > math.Float64frombits(uint64(m.max)) {
		m.max = int64(math.Float64bits(v))
	}
}

// addOther adds the first number, or a number of another kind than before.
//
// Slow path: once for each row, or where a function returns numbers of several kinds.
func (m *Measure) addOther(n event.Number) {
	one := NewMeasure(1, TotalOf(n), n, n)
	m.Merge(&one)
}

// Merge adds all numbers of o.
func (m *Measure) Merge(o *Measure) {
	switch {
	case o.N == 0:
		return
	case m.N == 0:
		*m = *o
		return
	}
	if m.kind != o.kind {
		m.kind = several
	}
	if n := o.Min(); n.Compare(m.Min()) < 0 {
		m.min, m.minKind = o.min, o.minKind
	}
	if n := o.Max(); n.Compare(m.Max()) > 0 {
		m.max, m.maxKind = o.max, o.maxKind
	}
	m.N += o.N
	s := m.Sum()
	s.Add(o.Sum())
	m.high, m.low, m.sumKind = s.high, s.low, s.kind
}

// mean is the sum divided by N: for integers without the fraction, for booleans the share of true
// values.
func (m *Measure) mean() event.Value {
	switch s := m.Sum(); s.kind {
	case event.FloatValue:
		x, n := s.parts()
		q := x / float64(m.N)
		if rest := math.FMA(-q, float64(m.N), x) + n; !math.IsNaN(rest) && !math.IsInf(rest, 0) {
			q += rest / float64(m.N)
		}
		return event.FloatOf(q)
	case event.BoolValue:
		return event.FloatOf(s.Float() / float64(m.N))
	default:
		size, negative := s.size()
		q, _ := bits.Div64(size[0]%m.N, size[1], m.N) // it fits, as each of the numbers does
		mean := Total{low: int64(q), kind: s.kind}
		if negative {
			mean = Total{kind: s.kind}.less(mean)
		}
		return mean.Value()
	}
}

// A Total is a sum of numbers.
type Total struct {
	high, low int64
	kind      event.ValueKind
}

// TotalOf is the sum of one number.
func TotalOf(n event.Number) Total {
	if n.Kind() == event.FloatValue {
		return Total{high: n.Bits(), kind: event.FloatValue}
	}
	s := Total{low: n.Bits(), kind: n.Kind()}
	if n.Kind() != event.UintValue {
		s.high = n.Bits() >> 63
	}
	return s
}

// TotalOfWords makes a sum of a kind from the words that Words returned.
func TotalOfWords(kind event.ValueKind, high, low int64) Total { return Total{high, low, kind} }

// Words returns a sum as plain data: an integer of 128 bits, or a pair of doubles.
func (s Total) Words() (kind event.ValueKind, high, low int64) { return s.kind, s.high, s.low }

// parts returns the pair of doubles.
func (s Total) parts() (main, rest float64) {
	return math.Float64frombits(uint64(s.high)), math.Float64frombits(uint64(s.low))
}

func (s *Total) addFloat(v float64) {
	main, rest := s.parts()
	t := main + v
	b := t - main
	if lost := (main - (t - b)) + (v - b); lost == lost { // else t is infinite
		rest += lost
	} else {
		rest = 0
	}
	s.high, s.low = int64(math.Float64bits(t)), int64(math.Float64bits(rest))
}

// Add adds o.
func (s *Total) Add(o Total) {
	if sf, of := s.kind == event.FloatValue, o.kind == event.FloatValue; sf || of {
		*s, o = s.double(), o.double()
		main, rest := o.parts()
		s.addFloat(main)
		s.addFloat(rest)
		return
	}
	switch {
	case s.kind == event.None, s.kind == event.BoolValue, s.kind == event.UintValue && o.kind != event.None:
		s.kind = o.kind
	}
	low, carry := bits.Add64(uint64(s.low), uint64(o.low), 0)
	s.low, s.high = int64(low), s.high+o.high+int64(carry)
}

// less is the sum without o.
func (s Total) less(o Total) Total {
	if o.kind == event.FloatValue || s.kind == event.FloatValue {
		s, o = s.double(), o.double()
		main, rest := o.parts()
		s.addFloat(-main)
		s.addFloat(-rest)
		return s
	}
	low, borrow := bits.Sub64(uint64(s.low), uint64(o.low), 0)
	return Total{s.high - o.high - int64(borrow), int64(low), s.kind}
}

// double converts an integer sum into a pair of doubles. No digit is lost: the words are added by
// halves.
func (s Total) double() Total {
	if s.kind == event.FloatValue {
		return s
	}
	d := Total{kind: event.FloatValue}
	d.addFloat(math.Ldexp(float64(s.high>>32), 96))
	d.addFloat(math.Ldexp(float64(uint32(s.high)), 64))
	d.addFloat(math.Ldexp(float64(uint64(s.low)>>32), 32))
	d.addFloat(float64(uint32(s.low)))
	return d
}

// size is the integer's magnitude, the high word first.
func (s Total) size() (size [2]uint64, negative bool) {
	if s.high >= 0 {
		return [2]uint64{uint64(s.high), uint64(s.low)}, false
	}
	low, borrow := bits.Sub64(0, uint64(s.low), 0)
	high, _ := bits.Sub64(0, uint64(s.high), borrow)
	return [2]uint64{high, low}, true
}

// Float is the double that is nearest to the sum.
func (s Total) Float() float64 {
	if s.kind == event.FloatValue {
		main, rest := s.parts()
		return main + rest
	}
	size, negative := s.size()
	x, shift := size[1], 0
	if size[0] != 0 {
		// The top 64 bits; the lowest of them says that there are more below, for the rounding.
		shift = 64 - bits.LeadingZeros64(size[0])
		x = size[0]<<(64-shift) | size[1]>>shift
		if size[1]<<(64-shift) != 0 {
			x |= 1
		}
	}
	f := math.Ldexp(float64(x), shift)
	if negative {
		return -f
	}
	return f
}

// Value is the sum as a value of its kind; a sum beyond 64 bits is the nearest double.
func (s Total) Value() event.Value {
	kind := s.kind
	switch kind {
	case event.FloatValue:
		return event.FloatOf(s.Float())
	case event.None, event.BoolValue:
		kind = event.IntValue
	}
	switch {
	case s.high == s.low>>63 && (kind != event.UintValue || s.low >= 0):
	case s.high == 0 && (kind == event.IntValue || kind == event.UintValue):
		kind = event.UintValue
	case s.high == s.low>>63:
		kind = event.IntValue
	default:
		return event.FloatOf(s.Float())
	}
	return event.NumberOf(kind, s.low).Value()
}

// times multiplies the sum; the product of an integer sum is rounded to the
// nearest integer.
func (s Total) times(factor float64) Total {
	x := s.Float() * factor
	if s.kind == event.FloatValue {
		return TotalOf(event.FloatNumber(x))
	}
	return nearest(x, s.kind)
}

// nearest is the integer sum that is nearest to x.
func nearest(x float64, kind event.ValueKind) Total {
	if x = math.Round(x); x != x {
		x = 0
	}
	size, exp := math.Frexp(math.Abs(x))
	whole, shift := uint64(size*(1<<53)), exp-53
	s := Total{kind: kind}
	switch {
	case shift <= 0:
		s.low = int64(whole >> min(-shift, 63))
	case shift < 64:
		s.high, s.low = int64(whole>>(64-shift)), int64(whole<<shift)
	default:
		s.high = int64(whole << min(shift-64, 10))
	}
	if x < 0 {
		return Total{kind: kind}.less(s)
	}
	return s
}
