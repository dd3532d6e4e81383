package perf

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// The moment lies between the call and its end, exactly: a caller that counts events up to
// that moment must not be off by the events that a busy machine has in between. Its
// wall-clock time is near to it.
func TestReadClockIsWithinTheCall(t *testing.T) {
	monotonic := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	for range 20 {
		begin, wallBegin := monotonic(), time.Now()
		at, wall, ok := ReadClock(context.Background(), ClockMonotonic)
		end, wallEnd := monotonic(), time.Now()
		if !ok {
			testkit.Requires(t, testkit.Optional("records of this thread's name", unix.EPERM))
		}
		if int64(at) < begin || int64(at) > end || wall.Before(wallBegin) || wall.After(wallEnd) {
			t.Errorf("got %d and %v, want a moment between %d and %d", at, wall, begin, end)
		}
	}
}
