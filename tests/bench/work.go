package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This file is the work of the traced program. Each kind of work has rows of its own,
// which are compared with an untraced run of the same kind.

// The kinds of work.
const (
	workCalls  = ""       // getppid, the cheapest system call that always enters the kernel
	workPipe   = "pipe"   // a byte to another thread on the same CPU, and back
	workProbed = "probed" // a function of the program's own
	workC      = "c"      // a function of a program in C, testdata/probed.c
	workKeys   = "keys"   // and a number: calls of getppid that begin so many operations, then end them
)

// Values of the second argument of getppid in workKeys; the first argument names the
// operation. The kernel ignores both.
const (
	keyBegins = 1
	keyEnds   = 2
)

// A worker does a part of the work: the steps of a range.
type worker struct {
	step func(from, to int)
	// clock is the CPU clock of the thread, or of all threads if several work.
	clock int32
	// typical computes the time of a step from the times of all parts.
	typical func([]float64) float64
	close   func()
}

// workerOf makes the worker of a kind.
func workerOf(kind string) (*worker, error) {
	w := &worker{clock: unix.CLOCK_THREAD_CPUTIME_ID, typical: median, close: func() {}}
	switch {
	case kind == workCalls:
		w.step = func(from, to int) {
			for range to - from {
				unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
			}
		}
	case kind == workProbed:
		// A return probe changes the stack, which the garbage collector must
		// not walk meanwhile.
		debug.SetGCPercent(-1)
		w.step = func(from, to int) {
			for i := from; i < to; i++ {
				probedSum += probed(i)
			}
		}
	case kind == workPipe:
		return w, w.pipe()
	case strings.HasPrefix(kind, workKeys):
		keys, err := strconv.Atoi(strings.TrimPrefix(kind, workKeys))
		if err != nil || keys < 1 {
			return nil, fmt.Errorf("work %s: want a number of keys", kind)
		}
		w.typical = trimmed // begins and ends take different times
		w.step = func(from, to int) {
			for i := from; i < to; i++ {
				what := keyBegins + i/keys%2*(keyEnds-keyBegins)
				unix.RawSyscallNoError(unix.SYS_GETPPID, uintptr(i%keys+1), uintptr(what), 0)
			}
		}
	default:
		return nil, fmt.Errorf("work %s: there is no such kind", kind)
	}
	return w, nil
}

var probedSum int

// probed is the function on which probes are set.
//
//go:noinline
func probed(n int) int { return n ^ probedSum }

// pipe starts the thread that answers each byte.
func (w *worker) pipe() error {
	var there, back [2]int
	for _, p := range []*[2]int{&there, &back} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("make a pipe: %w", err)
		}
	}
	w.clock = unix.CLOCK_PROCESS_CPUTIME_ID
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if onCPU0() != nil {
			return
		}
		var b [1]byte
		for {
			if n, _ := unix.Read(there[0], b[:]); n != 1 {
				return
			}
			_, _ = unix.Write(back[1], b[:])
		}
	}()
	w.step = func(from, to int) {
		var b [1]byte
		for range to - from {
			_, _ = unix.Write(there[1], b[:])
			_, _ = unix.Read(back[0], b[:])
		}
	}
	w.close = func() {
		unix.Close(there[1])
		<-ended
		for _, fd := range []int{there[0], back[0], back[1]} {
			unix.Close(fd)
		}
	}
	return nil
}

// trimmed is the mean without the smallest tenth and the largest tenth.
func trimmed(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	cut := len(sorted) / 10
	sum := 0.0
	for _, v := range sorted[cut : len(sorted)-cut] {
		sum += v
	}
	return sum / float64(len(sorted)-2*cut)
}

// kernelProbes returns the reason why probes in the kernel cannot be measured
// here; nil if they can.
func kernelProbes() error {
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe"); err != nil {
		return fmt.Errorf("probes of the kernel: %w", errMissing)
	}
	return nil
}
