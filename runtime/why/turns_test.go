package why

import (
	"fmt"
	"slices"
	"testing"

	"ppscript/runtime/event"
)

// A time that begins before the first known turn of its CPU has both: the part of which nothing is known,
// and the turn.
func TestTurnsBeginUnknown(t *testing.T) {
	x := &index{why: "too early", cpus: []cpu{{list: []turn{{at: 20, cur: 1}, {at: 30, cur: 2}}}}}
	f := func(from, to event.Time, want ...string) {
		t.Helper()
		var got []string
		x.turns(0, from, to, func(from, to event.Time, u *turn, reason string) {
			got = append(got, fmt.Sprintf("%d-%d %d %s", from, to, u.cur, reason))
		})
		if !slices.Equal(got, want) {
			t.Errorf("from %d to %d: got %q, want %q", from, to, got, want)
		}
	}
	f(10, 40, "10-20 0 too early", "20-30 1 ", "30-40 2 ")
	f(10, 15, "10-15 0 too early")
	f(25, 35, "25-30 1 ", "30-35 2 ")
}
