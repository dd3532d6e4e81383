package testkit

import (
	"strings"
	"testing"
)

// mostTries bounds Again. Tracers that disturb a measurement come and go: what
// is wrong as often as this is wrong.
const mostTries = 8

// Again makes a measurement until nothing is wrong with it. It is for what other
// tracers change while they run beside this test: the kernel passes hits by
// where a program runs already, keeps from perf what happens while it wakes the
// readers of rings, and walks a stack through other functions. Such a measurement
// is made again as a whole; a mistake of ours is there each time.
func Again(t testing.TB, measure func() (wrong []string)) {
	t.Helper()
	for tries := 1; ; tries++ {
		wrong := measure()
		switch {
		case len(wrong) == 0:
			return
		case tries == mostTries || t.Failed():
			t.Errorf("%d times, at last:\n%s", tries, strings.Join(wrong, "\n"))
			return
		}
		t.Logf("tried again, since\n%s", strings.Join(wrong, "\n"))
	}
}
