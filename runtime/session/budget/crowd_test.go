package budget

import (
	"fmt"
	"testing"
)

// TestCrowd checks that more than two runnable threads for each CPU are a crowd, on average over
// some slots.
func TestCrowd(t *testing.T) {
	f := func(want bool, runnable ...int) {
		t.Helper()
		var c crowding
		got := false
		for _, n := range runnable {
			got = c.add(fmt.Appendf(nil, "0.20 0.18 0.12 %d/80 11206\n", n), 4)
		}
		if got != want {
			t.Errorf("%v: got %v, want %v", runnable, got, want)
		}
	}
	f(false, 1)
	f(false, 8, 8)
	f(true, 9)
	f(false, 2, 2, 2, 20)
	f(true, 2, 20, 20, 20)
	f(false, 20, 2, 2, 2, 2, 2, 2)
	var c crowding
	for _, text := range []string{"", "0.2 0.1 0.1", "0.2 0.1 0.1 x/80 1"} {
		if c.add([]byte(text), 1) {
			t.Errorf("%q: got a crowd", text)
		}
	}
}
