package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what this process has used up to a moment.
type Usage struct {
	At           time.Time // with the monotonic clock
	User, System time.Duration
	MaxRSSBytes  int64
}

// SelfUsage asks the kernel for this process's usage, all threads together.
func SelfUsage() (Usage, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, fmt.Errorf("read own usage: %w", err)
	}
	return Usage{
		At:          time.Now(),
		User:        time.Duration(ru.Utime.Nano()),
		System:      time.Duration(ru.Stime.Nano()),
		MaxRSSBytes: ru.Maxrss << 10, // ru_maxrss counts KiB
	}, nil
}

// PercentSince is the CPU time used since before, in percent of one CPU; 0 if
// no time has passed.
func (u Usage) PercentSince(before Usage) (user, system float64) {
	wall := u.At.Sub(before.At)
	if wall <= 0 {
		return 0, 0
	}
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(wall) }
	return percent(u.User - before.User), percent(u.System - before.System)
}
