package agg

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

func TestTopOrdersByCount(t *testing.T) {
	g := &Group{}
	var x extra
	f := func(want string) {
		t.Helper()
		if got := x.top.most(2).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, v := range []int64{5, 7, 7, 9, 9, 3} {
		x.count(g, event.IntOf(v))
	}
	f("((7, 2), (9, 2))") // of equal counts the first
	x.count(g, event.StrOf("7"))
	x.count(g, event.IntOf(9))
	f("((9, 3), (7, 2))")
	if x.reset(); x.top.most(3).String() != "()" {
		t.Errorf("after reset: got %s, want nothing", x.top.most(3))
	}
	x.count(g, event.IntOf(1))
	f("((1, 1))")
	v := event.IntOf(1)
	if n := testing.AllocsPerRun(100, func() { x.count(g, v) }); n != 0 {
		t.Errorf("got %v allocations for a known value, want 0", n)
	}
}

func TestTopIsBounded(t *testing.T) {
	g := &Group{}
	var x extra
	for v := range int64(distinctLimit + 10) {
		x.count(g, event.IntOf(v))
	}
	if g.evicted != 10 || len(x.top.n) != distinctLimit {
		t.Errorf("got %d evicted of %d values, want 10 of %s", g.evicted, len(x.top.n), fmt.Sprint(distinctLimit))
	}
}
