package agg

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

func TestTopOrdersByCount(t *testing.T) {
	x := Top.New(&Agg{Op: Top, N: 2}, new(Workspace)).(*top)
	f := func(want string) {
		t.Helper()
		if got := x.Cell().String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, v := range []int64{5, 7, 7, 9, 9, 3} {
		x.AddValue(event.IntOf(v))
	}
	f("((7, 2), (9, 2))") // of equal counts the first
	x.AddValue(event.StrOf("7"))
	x.AddValue(event.IntOf(9))
	f("((9, 3), (7, 2))")
	if x.Reset(); x.Cell().String() != "()" {
		t.Errorf("after reset: got %s, want nothing", x.Cell())
	}
	x.AddValue(event.IntOf(1))
	f("((1, 1))")
	v := event.IntOf(1)
	if n := testing.AllocsPerRun(100, func() { x.AddValue(v) }); n != 0 {
		t.Errorf("got %v allocations for a known value, want 0", n)
	}
}

func TestTopIsBounded(t *testing.T) {
	work := new(Workspace)
	x := Top.New(&Agg{Op: Top, N: 2}, work).(*top)
	for v := range int64(distinctLimit + 10) {
		x.AddValue(event.IntOf(v))
	}
	if work.evicted != 10 || len(x.n) != distinctLimit {
		t.Errorf("got %d evicted of %d values, want 10 of %s", work.evicted, len(x.n),
			fmt.Sprint(distinctLimit))
	}
}
