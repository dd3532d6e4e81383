package agg

import (
	"testing"

	"ppscript/runtime/event"
)

// An Op says all that the others need to know of it.
func TestOpsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, op := range Ops {
		if names[op.Name] {
			t.Errorf("%s: two aggregators have this name", op.Name)
		}
		names[op.Name] = true

		if (op.Cell == nil) == (op.New == nil) {
			t.Errorf("%s: want either Cell or New", op.Name)
		}
		if op.Histogram() == (op.Summary != "") {
			t.Errorf("%s: a histogram is a stream method, any other aggregator has a summary", op.Name)
		}
		if op.New == nil {
			continue
		}

		state := op.New(&Agg{Op: op, N: 1, Hi: 10, Step: 1}, new(Workspace))
		if _, ok := state.(textState); ok == op.Numeric {
			t.Errorf("%s: got a state that takes texts: %v, want %v", op.Name, ok, !op.Numeric)
		}
		if _, ok := state.(partialState); ok != (op.Kernel != nil) {
			t.Errorf("%s: got a state that takes parts: %v, want %v", op.Name, ok, op.Kernel != nil)
		}
	}
}

// ints is the measure of n integers.
func ints(n uint64, sum, least, greatest int64) Measure {
	return NewMeasure(n, TotalOf(event.IntNumber(sum)), event.IntNumber(least), event.IntNumber(greatest))
}
