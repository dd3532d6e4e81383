package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loopParts is how many times the loop is measured. The median counts, of the
// time that the thread had the CPU: so the times stand other loads.
const loopParts = 200

func ownTime() (ns int64, err error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the thread's time: %w", err)
	}
	return t.Nano(), nil
}

// loop is the traced program: calls of getppid, the cheapest system call that
// no library answers itself, on CPU 0. It writes the ns of CPU that they took
// and when they began, as Unix time in ns, to the file report, since a tracer
// may use stdout and stderr for itself.
func loop(calls int, report string) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU 0: %w", err)
	}
	begin := time.Now()
	parts := make([]float64, min(loopParts, calls))
	for i := range parts {
		n := calls*(i+1)/len(parts) - calls*i/len(parts)
		from, err := ownTime()
		if err != nil {
			return err
		}
		for range n {
			unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
		}
		to, err := ownTime()
		if err != nil {
			return err
		}
		parts[i] = float64(to-from) / float64(n)
	}
	ns := int64(median(parts) * float64(calls))
	text := strconv.FormatInt(ns, 10) + " " + strconv.FormatInt(begin.UnixNano(), 10)
	return os.WriteFile(report, []byte(text), 0o644)
}
