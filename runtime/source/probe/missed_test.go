package probe

import "testing"

func TestPlacesOfReturns(t *testing.T) {
	f := func(built string, cpus, want int) {
		t.Helper()
		if got := places(built, cpus); got != want {
			t.Errorf("%s, %d CPUs: got %d, want %d", built, cpus, got, want)
		}
	}
	f("#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1", 2, 10)
	f("#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1", 8, 16)
	f("#1 SMP Debian 5.10.237-1", 2, 2)
}
