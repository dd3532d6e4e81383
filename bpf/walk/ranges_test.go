package walk

import (
	"testing"
	"time"

	"ppscript/bpf/load"
)

// TestRangesAreUsedAgain checks that room that is given back is joined, and used again after a
// rest.
func TestRangesAreUsedAgain(t *testing.T) {
	var r ranges
	take := func(n, want uint32) {
		t.Helper()
		if at, ok := r.take(n); !ok || at != want {
			t.Errorf("got room for %d at %d, %v, want it at %d", n, at, ok, want)
		}
	}
	take(10, 0)
	take(20, 10)
	take(30, 30)
	r.give(0, 10)
	r.give(10, 20)
	take(5, 60) // the others rest
	for i := range r.retired {
		r.retired[i].when = time.Now().Add(-2 * restTime)
	}
	take(25, 0)
	take(5, 25)
	if len(r.free) != 0 || len(r.retired) != 0 {
		t.Errorf("got %v, %v left, want nothing", r.free, r.retired)
	}
	if _, ok := r.take(load.MostWalkRanges); ok {
		t.Error("got more room than there is")
	}
	take(load.MostWalkRanges-65, 65)
	take(0, 0)
}
