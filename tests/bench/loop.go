package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loop is the traced program: calls of getppid, the cheapest system call that
// no library answers itself, on CPU 0. It writes the ns that they took together
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
	for range calls {
		unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
	}
	ns := time.Since(begin).Nanoseconds()
	text := strconv.FormatInt(ns, 10) + " " + strconv.FormatInt(begin.UnixNano(), 10)
	return os.WriteFile(report, []byte(text), 0o644)
}
