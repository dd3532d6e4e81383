package testkit

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the CPU time of this process. Tests measure work with it, because elapsed time
// depends on the load of the machine.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
