package kernel

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file and the other try_*.go find out whether events that open are also
// delivered. An event that opens need not work: a hypervisor may hide the debug
// registers, so that breakpoints open and never fire, or offer counters that stay
// 0. So each try makes a known number of hits itself and counts the hits that are
// delivered. Doctor shows the outcomes, tests/testkit skips tests that depend on
// them, and runtime/source/perf refuses breakpoints that would never fire.
//
// A try takes some milliseconds, needs the same privileges as the event, and
// leaves nothing behind. Results are not cached: a caller that needs the answer
// often keeps it.

// A Trial is the outcome of one try.
type Trial struct {
	Err       error // the event does not open or could not be tried; the other members are then unset
	Hits      int64 // hits made by the try
	Delivered int64 // hits delivered
	// Least is the number of hits that must be delivered. It is less than Hits
	// if a hypervisor may take CPU time away.
	Least   int64
	Elapsed time.Duration // time in which the hits were made
	Where   string        // the CPU or counter that was tried, of several the worst; "" if it does not matter
}

// works reports that the event opens and its hits are delivered.
func (t Trial) works() bool { return t.Err == nil && t.Delivered >= t.Least }

// Silent reports that the event opens, but its hits are not delivered.
func (t Trial) Silent() bool { return t.Err == nil && t.Delivered < t.Least }

// Missing is the reason why the event cannot be used here; nil if it can.
func (t Trial) Missing() error {
	switch {
	case t.Err != nil:
		return t.Err
	case t.Silent():
		return fmt.Errorf("opens, but %d of %d hits came", t.Delivered, t.Hits)
	}
	return nil
}

// untried is the outcome if the event could not be tried.
func untried(format string, args ...any) Trial { return Trial{Err: fmt.Errorf(format, args...)} }

// tally opens an event that counts in this thread, calls work to make hits, and
// returns the counted hits.
func tally(attr unix.PerfEventAttr, made int64, work func()) Trial {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return tallyOn(attr, made, work, onTask(0))
}

// A spot has the arguments of perf_event_open that say where an event is
// opened.
type spot struct{ pid, cpu, flags int }

func onTask(tid int) spot { return spot{tid, -1, 0} }

// tallyOn is like tally, for an event on several spots whose counts are added
// up.
func tallyOn(attr unix.PerfEventAttr, made int64, work func(), spots ...spot) Trial {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	attr.Size = attrSize
	attr.Bits |= unix.PerfBitExcludeHv
	for _, s := range spots {
		fd, err := unix.PerfEventOpen(&attr, s.pid, s.cpu, -1, s.flags|unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return Trial{Err: err}
		}
		fds = append(fds, fd)
	}
	start := time.Now()
	work()
	t := Trial{Hits: made, Least: made, Elapsed: time.Since(start)}
	for _, fd := range fds {
		n, err := readCount(fd)
		if err != nil {
			return Trial{Err: err}
		}
		t.Delivered += n
	}
	return t
}

func readCount(fd int) (int64, error) {
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		return 0, fmt.Errorf("read the count: %w", err)
	}
	return int64(binary.NativeEndian.Uint64(count[:])), nil
}

// tryPages is the size of the data of a tryRing in pages: all samples of a try
// fit.
const tryPages = 4

// A tryRing is an event with a ring that is read once, at the end.
type tryRing struct {
	fd  int
	mem []byte
}

func openRing(attr unix.PerfEventAttr, s spot) (*tryRing, error) {
	attr.Size = attrSize
	attr.Bits |= unix.PerfBitExcludeHv
	fd, err := unix.PerfEventOpen(&attr, s.pid, s.cpu, -1, s.flags|unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(fd, 0, (tryPages+1)*unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map a ring: %w", err)
	}
	return &tryRing{fd, mem}, nil
}

func (r *tryRing) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// samples stops the event and calls fn with the body of each sample.
func (r *tryRing) samples(fn func(body []byte)) error {
	if err := unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	// The event is disabled, so nothing is written any more.
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(r.mem)))
	data := r.mem[unix.Getpagesize():]
	data = data[:min(page.Data_head, uint64(len(data)))]
	for len(data) >= 8 {
		kind, size := binary.NativeEndian.Uint32(data), int(binary.NativeEndian.Uint16(data[6:]))
		if size < 8 || size > len(data) {
			return fmt.Errorf("a record of %d bytes where %d are left", size, len(data))
		}
		if kind == unix.PERF_RECORD_SAMPLE {
			fn(data[8:size])
		}
		data = data[size:]
	}
	return nil
}

// burn keeps a CPU busy until this thread has used d of CPU time, or fifty times
// d has passed.
func burn(d time.Duration) {
	spent := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			return d
		}
		return time.Duration(ts.Nano())
	}
	end, deadline := spent()+d, time.Now().Add(50*d)
	for spent() < end && time.Now().Before(deadline) {
		// The loop takes much longer than reading the time, also if system calls are slow, so that
		// samples are in the thread's own code.
		for range 100_000 {
			runtime.KeepAlive(d)
		}
	}
}
