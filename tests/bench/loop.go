package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loopParts is how many times the loop is measured. The result is the median of
// the CPU times of its threads, so other load on the machine does not change
// it.
const loopParts = 200

func timeOf(clock int32) (ns int64, err error) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("read the time of threads: %w", err)
	}
	return t.Nano(), nil
}

// onCPU0 pins the running thread to CPU 0.
func onCPU0() error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU 0: %w", err)
	}
	return nil
}

// loop is the traced program, on CPU 0. It writes the CPU time of its steps in ns, and
// when they began (Unix time in ns), to the file report, because a tracer may use stdout
// and stderr itself.
func loop(kind string, steps int, report string) error {
	if err := onCPU0(); err != nil {
		return err
	}
	w, err := workerOf(kind)
	if err != nil {
		return err
	}
	defer w.close()
	begin := time.Now()
	parts := make([]float64, min(loopParts, steps))
	for i := range parts {
		at, end := steps*i/len(parts), steps*(i+1)/len(parts)
		from, err := timeOf(w.clock)
		if err != nil {
			return err
		}
		w.step(at, end)
		to, err := timeOf(w.clock)
		if err != nil {
			return err
		}
		parts[i] = float64(to-from) / float64(end-at)
	}
	ns := int64(w.typical(parts) * float64(steps))
	text := strconv.FormatInt(ns, 10) + " " + strconv.FormatInt(begin.UnixNano(), 10)
	return os.WriteFile(report, []byte(text), 0o644)
}
