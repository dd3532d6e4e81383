package event

import (
	"math"
	"math/bits"
)

// A Number is a numeric Value in 16 bytes, small enough for code that runs per event. Its kind says
// how the 64 bits are read; it is a numeric kind, never a text or a list.
type Number struct {
	kind ValueKind
	bits uint64
}

// NumberOf makes a Number of 64 bits; for FloatValue they are the bits of a double.
func NumberOf(kind ValueKind, bits int64) Number { return Number{kind, uint64(bits)} }

// IntNumber returns a signed integer as a Number.
func IntNumber(v int64) Number { return Number{IntValue, uint64(v)} }

// FloatNumber returns a double as a Number.
func FloatNumber(v float64) Number { return Number{FloatValue, math.Float64bits(v)} }

// Number returns the value as a Number; ok is false if the value is not
// numeric.
func (v Value) Number() (n Number, ok bool) { return Number{v.Kind, v.num}, v.Numeric() }

// Kind says how the bits are read.
func (n Number) Kind() ValueKind { return n.kind }

// Bits is the bits of the number.
func (n Number) Bits() int64 { return int64(n.bits) }

// Value is the number as a Value.
func (n Number) Value() Value { return Value{Kind: n.kind, num: n.bits} }

// Float is the double nearest to the number.
func (n Number) Float() float64 { return n.Value().Float() }

// NaN reports whether the number is the double NaN.
func (n Number) NaN() bool { return n.kind == FloatValue && n.Float() != n.Float() }

// Less reports whether n < o.
func (n Number) Less(o Number) bool {
	// Fast path: both are signed.
	if n.kind == o.kind && n.kind != FloatValue && n.kind != UintValue {
		return int64(n.bits) < int64(o.bits)
	}
	return n.Compare(o) < 0
}

// Compare orders numbers by size, exactly, whatever their kinds. NaN is before all others.
func (n Number) Compare(o Number) int {
	switch nf, of := n.kind == FloatValue, o.kind == FloatValue; {
	case nf && of:
		a, b := n.Float(), o.Float()
		if a != a || b != b {
			return int(Bit(a == a) - Bit(b == b))
		}
		return cmp(a, b)
	case nf:
		return -o.compareFloat(n.Float())
	case of:
		return n.compareFloat(o.Float())
	}
	if a, b := n.negative(), o.negative(); a != b {
		return int(Bit(b) - Bit(a))
	}
	return cmp(n.bits, o.bits) // of the same sign, two's complement keeps the order
}

func (n Number) negative() bool {
	return n.kind != UintValue && n.kind != BoolValue && int64(n.bits) < 0
}

// compareFloat compares an integer with a double.
func (n Number) compareFloat(x float64) int {
	switch {
	case x != x, x < math.MinInt64:
		return 1
	case x >= 1<<64:
		return -1
	}
	whole := math.Floor(x)
	w := Number{IntValue, uint64(int64(whole))}
	if whole >= 1<<63 {
		w = Number{UintValue, uint64(whole)}
	}
	if c := n.Compare(w); c != 0 {
		return c
	}
	return cmp(whole, x)
}

// Magnitude is the absolute value without the fraction, and the sign: -2.5 gives 2 and true. A
// value above 64 bits gives the largest uint64.
func (n Number) Magnitude() (size uint64, negative bool) {
	switch {
	case n.kind == FloatValue:
		x := math.Abs(n.Float())
		if x >= 1<<64 {
			return math.MaxUint64, n.Float() < 0
		}
		return uint64(x), n.Float() < 0
	case n.negative():
		return -n.bits, true
	}
	return n.bits, false
}

// Int rounds the number down to an integer. A value outside the range of int64
// gives the nearest end of the range.
func (n Number) Int() int64 {
	switch {
	case n.kind == FloatValue:
		switch x := math.Floor(n.Float()); {
		case x >= 1<<63:
			return math.MaxInt64
		case x >= math.MinInt64:
			return int64(x)
		}
		return math.MinInt64
	case n.kind == UintValue && bits.LeadingZeros64(n.bits) == 0:
		return math.MaxInt64
	}
	return int64(n.bits)
}

// ValueKind is the kind of a number of this type; None if the type is not
// numeric.
func (t Type) ValueKind() ValueKind {
	switch {
	case t.Kind == TypeFloat:
		return FloatValue
	case !t.Numeric():
		return None
	}
	return t.Number(0).Kind
}
