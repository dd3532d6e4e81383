package expr_test

import (
	"errors"
	"math"
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
)

// TestFusedState compares the fused forms with the operations that they replace.
func TestFusedState(t *testing.T) {
	now := fieldNode("time")
	l := func(slot int) Node { return must(NewLoadState(slot, TInt)) }
	since := must(PyBinary("-", now, l(1)))
	f := func(name string, n Node, time event.Time, state, want [2]int64, wantErr error) {
		t.Helper()
		e := testEvent()
		e.Time = time
		fr := Frame{State: state[:]}
		fr.Reset(e)
		Build(n).Run(&fr)
		if state != want || !errors.Is(fr.Err, wantErr) {
			t.Errorf("%s: got %v (%v), want %v (%v)", name, state, fr.Err, want, wantErr)
		}
	}
	inc := must(NewStoreState(0, must(PyBinary("+", l(0), NewInt(3)))))
	f("count", inc, 0, [2]int64{4, 0}, [2]int64{7, 0}, nil)
	f("count too far", inc, 0, [2]int64{math.MaxInt64 - 1, 0}, [2]int64{math.MaxInt64 - 1, 0}, ErrOverflow)
	dec := must(NewStoreState(0, must(PyBinary("+", l(0), NewInt(-3)))))
	f("count down", dec, 0, [2]int64{4, 0}, [2]int64{1, 0}, nil)
	f("count down too far", dec, 0, [2]int64{math.MinInt64, 0}, [2]int64{math.MinInt64, 0}, ErrOverflow)
	f("remember", must(NewStoreState(1, now)), 9, [2]int64{4, 0}, [2]int64{4, 9}, nil)
	total := must(NewStoreState(0, must(PyBinary("+", l(0), since))))
	f("total", total, 9, [2]int64{4, 2}, [2]int64{11, 2}, nil)
	f("total too far", total, 9, [2]int64{math.MaxInt64, 2}, [2]int64{math.MaxInt64, 2}, ErrOverflow)
	f("since too long", total, 9, [2]int64{0, math.MinInt64}, [2]int64{0, math.MinInt64}, ErrOverflow)
	f("since", must(NewStoreState(0, since)), 9, [2]int64{0, 4}, [2]int64{5, 4}, nil)
	f("add a field", must(NewStoreState(0, must(PyBinary("+", l(0), must(PyBinary("*", l(1), NewInt(2))))))),
		0, [2]int64{1, 4}, [2]int64{9, 4}, nil)
	i := l(1) // an index
	elem := must(NewLoadElem(0, 2, TInt, i))
	incElem := must(NewStoreElem(0, 2, i, must(PyBinary("+", elem, NewInt(3)))))
	f("count an element", incElem, 0, [2]int64{4, 0}, [2]int64{7, 0}, nil)
	f("count the last element", incElem, 0, [2]int64{4, -1}, [2]int64{4, 2}, nil)
	f("count no element", incElem, 0, [2]int64{4, 2}, [2]int64{4, 2}, ErrIndex)
	f("count an element too far", must(NewStoreElem(0, 2, i, must(PyBinary("+", elem, NewInt(-3))))), 0,
		[2]int64{math.MinInt64, 0}, [2]int64{math.MinInt64, 0}, ErrOverflow)
	f("element", must(NewStoreElem(0, 2, i, must(NewLoadElem(0, 2, TInt, NewInt(-1))))), 0,
		[2]int64{4, -2}, [2]int64{-2, -2}, nil)
	f("far element", must(NewStoreState(0, must(NewLoadElem(0, 2, TInt, NewInt(-3))))), 0,
		[2]int64{4, 1}, [2]int64{4, 1}, ErrIndex)
	f("no list", must(NewStoreElem(1, 2, i, NewInt(1))), 0, [2]int64{4, 1}, [2]int64{4, 1}, ErrMissing)
	// The other side changes the member: it is read before.
	bump := must(NewFunc(NewBlock(must(NewStoreState(0, NewInt(100))), NewReturn(NewInt(1))), TInt))
	f("order", must(NewStoreState(0, must(PyBinary("+", l(0), bump)))), 0, [2]int64{5, 0},
		[2]int64{6, 0}, nil)
	f("no state", must(NewStoreState(7, now)), 0, [2]int64{1, 1}, [2]int64{1, 1}, ErrMissing)
}
