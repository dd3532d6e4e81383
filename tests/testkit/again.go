package testkit

import (
	"strings"
	"testing"
)

// mostTries is the largest number of tries of Again. Tracers that disturb a
// measurement come and go, so a failure of all tries is a real one.
const mostTries = 8

// Again repeats a measurement until it has no faults. It is for measurements that
// other tracers on the machine can disturb: the kernel skips hits while a BPF
// program runs already, hides events from perf while it wakes the readers of
// rings, and walks stacks through other functions. The whole measurement is
// repeated; a fault of ppscript occurs each time.
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
