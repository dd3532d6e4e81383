package plan

import "testing"

// A bareOp has results, and says no more of them than how they are delivered.
type bareOp struct{ operator }

func (*bareOp) deliver(Host) Delivery         { return NoDelivery{} }
func (*bareOp) instantiate(*Instance) Running { return nil }

// TestOperatorsSayThatResultsCanBePutTogether checks that results of an operator are put together
// with those of other machines only if it says that this can be done: else they would be missing
// there, and nobody would be told.
func TestOperatorsSayThatResultsCanBePutTogether(t *testing.T) {
	f := func(what, why string, ops ...Operator) {
		t.Helper()
		gotWhat, gotWhy := (&Plan{Operators: ops}).OfOneMachine()
		if gotWhat != what || gotWhy != why {
			t.Errorf("got %q, %q, want %q, %q", gotWhat, gotWhy, what, why)
		}
	}
	f("", "", &JoinOp{}, &LogOp{})
	f("bare", "it is no result that can be put together", &JoinOp{}, &bareOp{}, &LogOp{})
	f("heat map", "it goes to files", &HeatOp{})
}
