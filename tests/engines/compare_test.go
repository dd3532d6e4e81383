package engines

import (
	"fmt"
	"slices"
	"testing"
)

// For an event that lasts about as long as the threshold, one engine may have a line and the other
// none. Events that last longer, or whose line has no duration, are in both.
func TestBothSidesOfAThreshold(t *testing.T) {
	f := func(args string, kernel, native []line, equal bool) {
		t.Helper()
		c := &Comparison{Args: args}
		k, n := c.bothSides(kernel, native)
		if slices.Equal(k, n) != equal {
			t.Errorf("%s: got %q and %q, want them equal: %v", args, k, n, equal)
		}
	}
	at := func(micros ...float64) (lines []line) {
		for i, us := range micros {
			lines = append(lines, line{fmt.Sprintf("call %d", i), 1e3 * us})
		}
		return lines
	}
	f("--than=50us", at(500, 300, 51), at(500, 300), true)
	f("--than=50us", at(500), at(500, 140, 60), true)
	f("--only-than=1ms", at(1150), nil, true)
	f("--than=50us", at(500, 300), at(500), false)
	f("--than=1ms", at(2000), nil, false)
	f("--than=50us", []line{{"no time", 0}}, nil, false)
	f("", at(51), nil, false)
	// As many lines are left out as the other side lacks.
	same := []line{{"a", 60e3}, {"a", 61e3}, {"a", 900e3}}
	f("--than=50us", same, same[1:], true)
	f("--than=50us", same, nil, false)
}
