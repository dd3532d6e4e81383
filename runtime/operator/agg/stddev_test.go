package agg

import (
	"math"
	"testing"

	"ppscript/runtime/event"
)

// The deviation equals the result of the two passes by which it is defined, of all values
// at once and of parts that are merged, also where the mean is large.
func TestStdDevEqualsItsDefinition(t *testing.T) {
	for _, base := range []int64{0, -50, 1 << 50} {
		values := make([]int64, 1000)
		sum := 0.0
		for i := range values {
			values[i] = base + int64(i*i%997)
			sum += float64(values[i] - base)
		}
		mean, squares := sum/float64(len(values)), 0.0
		for _, v := range values {
			squares += math.Pow(float64(v-base)-mean, 2)
		}
		want := math.Sqrt(squares / float64(len(values)-1))

		a := &Agg{Op: StdDev}
		whole, parts := StdDev.New(a, nil), StdDev.New(a, nil)
		for i := 0; i < len(values); i += 250 {
			part := StdDev.New(a, nil)
			for _, v := range values[i : i+250] {
				whole.Add(event.IntNumber(v))
				part.Add(event.IntNumber(v))
			}
			parts.(merger).Merge(part)
		}
		for name, s := range map[string]State{"whole": whole, "parts": parts} {
			if got := s.Cell().Float(); math.Abs(got-want) > want/1e6 {
				t.Errorf("%s above %d: got %v, want %v", name, base, got, want)
			}
		}
	}
}

func TestStdDevOfFew(t *testing.T) {
	ns := &Agg{Op: StdDev, Type: event.Type{Unit: event.Nanos}}
	s := StdDev.New(ns, nil)
	f := func(want event.Value) {
		t.Helper()
		if got := s.Cell(); got.Kind != want.Kind || got.Compare(want) != 0 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	s.Add(event.IntNumber(1000))
	f(event.Value{})
	s.Add(event.IntNumber(3000))
	f(event.DurationOf(1414))
	s.Reset()
	s.Add(event.IntNumber(7))
	s.Add(event.IntNumber(7))
	f(event.DurationOf(0))
	s.(merger).Merge(StdDev.New(ns, nil))
	f(event.DurationOf(0))

	large := StdDev.New(&Agg{Op: StdDev, Type: event.Type{Unsigned: true}}, nil)
	for _, v := range []uint64{1<<64 - 2048, 1<<64 - 1} {
		large.Add(event.NumberOf(event.UintValue, int64(v)))
	}
	if got := large.Cell().Float(); got < 1400 || got > 1500 {
		t.Errorf("got %v for two large numbers, want about 1448", got)
	}
}
