package kernel

import (
	"syscall"
	"time"
)

// CPUTime is the time that this process had CPUs so far, in user space and in the kernel; 0 if that cannot be
// read.
func CPUTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
