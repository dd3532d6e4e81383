package event

import "math"

// Strings makes strings of texts that repeat, such as names of threads, without an
// allocation for each.
type Strings struct{ known map[string]string }

// mostTexts is how many are known at once.
const mostTexts = 1024

// Of makes a string of b; keeping the string keeps no more than its bytes.
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

// Maker makes values of the field's kind of the bits of a number.
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
