package perf

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// Monotonic returns the present time on the clock ClockMonotonic.
func Monotonic() (now event.Time, ok bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, false
	}
	return event.Time(ts.Nano()), true
}
