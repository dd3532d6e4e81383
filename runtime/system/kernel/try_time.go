package kernel

import (
	"encoding/binary"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// This file tries features that depend on timers and clocks: samples,
// counters of the CPU, and the times of events.

// Numbers for samples of a busy thread and of a CPU. If a hypervisor takes time
// away, several timers of a CPU fire late and as one.
const (
	tryPeriod = time.Millisecond
	tryBusy   = 20 * time.Millisecond
	tryShare  = 4 // one of tryShare samples must be delivered
)

// TrySampling samples this thread while it is busy.
func TrySampling() Trial {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return trySampling(onTask(0), unix.PerfBitExcludeKernel, func() { burn(tryBusy) }, tryBusy)
}

// trySamplingCPUs samples each CPU. Most are idle, so that a timer which stops
// with an idle CPU is noticed. It returns the outcome of the worst CPU.
func trySamplingCPUs(cpus []int) Trial {
	if len(cpus) == 0 {
		return untried("no CPU is known to be online")
	}
	var worst Trial
	for i, cpu := range cpus {
		t := trySampling(spot{-1, cpu, 0}, 0, func() { time.Sleep(tryBusy) }, 0)
		if i == 0 || t.Err != nil || worst.Err == nil && t.Delivered*worst.Hits < worst.Delivered*t.Hits {
			worst = t
		}
	}
	return worst
}

// trySampling samples by the CPU's clock while work runs. busy is the duration
// of work, measured if 0.
func trySampling(s spot, bits uint64, work func(), busy time.Duration) Trial {
	ring, err := openRing(unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample:      uint64(tryPeriod),
		Sample_type: unix.PERF_SAMPLE_TIME,
		Bits:        bits,
	}, s)
	if err != nil {
		return Trial{Err: err}
	}
	defer ring.close()
	start := time.Now()
	work()
	t := Trial{Elapsed: time.Since(start)}
	if busy == 0 {
		busy = t.Elapsed
	}
	t.Hits = int64(busy / tryPeriod)
	t.Least = t.Hits / tryShare
	if err := ring.samples(func([]byte) { t.Delivered++ }); err != nil {
		return Trial{Err: err}
	}
	return t
}

// tryCycles counts the cycles of this thread while it is busy. On some machines
// the counter opens and stays 0.
func tryCycles() Trial {
	const few = 1000 // fewer than any CPU has in a millisecond
	return tally(unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Bits: unix.PerfBitExcludeKernel}, few, func() { burn(time.Millisecond) })
}

// tryClock samples page faults of this thread with the monotonic clock, and
// counts the samples whose time is between two readings of that clock here. If
// the CPU's counter is not steady, some are outside.
func tryClock() Trial {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, tryHits*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return untried("map pages: %w", err)
	}
	defer unix.Munmap(mem)
	// Transparent huge pages would give fewer faults than pages.
	_ = unix.Madvise(mem, unix.MADV_NOHUGEPAGE)
	ring, err := openRing(unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_PAGE_FAULTS,
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR,
		Clockid:     unix.CLOCK_MONOTONIC,
		Bits:        unix.PerfBitUseClockID | unix.PerfBitExcludeKernel,
	}, onTask(0))
	if err != nil {
		return Trial{Err: err}
	}
	defer ring.close()
	var readings [tryHits + 1]int64
	for i := range readings {
		if i > 0 {
			mem[(i-1)*page] = 1
		}
		if readings[i], err = monotonic(); err != nil {
			return Trial{Err: err}
		}
	}
	t := Trial{Hits: tryHits, Least: tryHits, Elapsed: time.Duration(readings[tryHits] - readings[0])}
	base := addressOf(mem)
	err = ring.samples(func(body []byte) {
		if len(body) < 16 {
			return
		}
		at, addr := int64(binary.NativeEndian.Uint64(body)), binary.NativeEndian.Uint64(body[8:])
		n := int(addr-base) / page
		if addr >= base && n < tryHits && readings[n] <= at && at <= readings[n+1] {
			t.Delivered++
		}
	})
	if err != nil {
		return Trial{Err: err}
	}
	return t
}

func monotonic() (int64, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano(), err
}

// tryCounters tries counters of this thread, each while the thread does something that the event
// counts. A counter passes if it advances at all.
func tryCounters() []Trial {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const busy = time.Millisecond
	burns := func() { burn(busy) }
	software := func(event uint64, made int64, work func()) Trial {
		return tally(unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: event}, made, work)
	}
	sleeps := func() {
		for range tryHits {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 200_000}, nil)
		}
	}
	var list []Trial
	add := func(event string, t Trial) {
		t.Where, t.Least = event, 1
		list = append(list, t)
	}
	add("cpu-clock", software(unix.PERF_COUNT_SW_CPU_CLOCK, int64(busy), burns))
	add("task-clock", software(unix.PERF_COUNT_SW_TASK_CLOCK, int64(busy), burns))
	add("context-switches", software(unix.PERF_COUNT_SW_CONTEXT_SWITCHES, tryHits, sleeps))
	add("page-faults", tryFaults(onTask(0)))
	add("cycles", tryCycles())
	add("instructions", tally(unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_INSTRUCTIONS, Bits: unix.PerfBitExcludeKernel}, 1000, burns))
	return list
}
