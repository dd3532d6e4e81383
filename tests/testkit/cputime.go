package testkit

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is how long this process has used a CPU: what work took is measured by it, since a busy
// machine takes its time.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
