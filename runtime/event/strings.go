package event

import "math"

// Strings makes strings of bytes. It returns the same string for the same bytes,
// so that texts that repeat, such as names of threads, are allocated once.
type Strings struct{ known map[string]string }

// mostTexts bounds the strings that are kept; when it is reached, all are
// dropped.
const mostTexts = 1024

// Of returns b as a string. The string does not share memory with b.
//
// Fast path: a text seen before does not allocate.
func (t *Strings) Of(b []byte) string {
	if s, ok := t.known[string(b)]; ok {
		return s
	}
	if t.known == nil || len(t.known) >= mostTexts {
		t.known = make(map[string]string)
	}
	s := string(b)
	t.known[s] = s
	return s
}

// Maker returns the function that turns the bits of a number into a Value of
// the field's kind and unit.
func (f *Field) Maker() func(bits int64) Value {
	switch {
	case f.Kind == Float:
		return func(bits int64) Value { return FloatOf(math.Float64frombits(uint64(bits))) }
	case f.Type == BoolType:
		return func(bits int64) Value { return BoolOf(bits != 0) }
	case f.Unit == Nanos:
		return DurationOf
	case f.Unit == Moment:
		return func(bits int64) Value { return TimeOf(Time(bits)) }
	case !f.Signed:
		return func(bits int64) Value { return UintOf(uint64(bits)) }
	}
	return IntOf
}
