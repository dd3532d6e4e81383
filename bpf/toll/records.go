package toll

import (
	"errors"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file measures what it costs a thread that the kernel writes a record of an event into a ring.

// Records are what records cost those for whom they are written.
type Records struct {
	Each  time.Duration // a small one
	small uint64        // its bytes
}

const (
	// slowRecord is taken where it cannot be tried.
	slowRecord = 600 * time.Nanosecond
	// perByte is what each byte more costs, ns: frames of a stack that are looked for cost about ten
	// times as much as bytes that are copied, and are the usual reason for large records.
	perByte = 0.5
	// tried is the size of the record that is measured.
	tried = 100
)

// Of is what so many records with so many bytes cost, ns.
func (r *Records) Of(n, bytes uint64) uint64 {
	more := float64(bytes) - float64(n*r.small)
	return n*uint64(r.Each) + uint64(max(more, 0)*perByte)
}

// MeasureRecords takes some milliseconds.
func MeasureRecords() Records {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := Records{Each: slowRecord, small: tried}
	without := fastest()
	end, err := ring()
	if err != nil {
		return r
	}
	with := fastest()
	end()
	without = min(without, fastest())
	r.Each = max(with-without, 50*time.Nanosecond)
	return r
}

// ring has records written for this thread's system calls, which nobody reads: the newest stay.
func ring() (end func(), err error) {
	id, err := sysEnter()
	if err != nil {
		return nil, err
	}
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU |
			unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW,
		Bits: unix.PerfBitWriteBackward}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// Memory that cannot be written to is overwritten: nobody says how far it was read.
	mem, err := unix.Mmap(fd, 0, 9*unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return func() { _, _ = unix.Munmap(mem), unix.Close(fd) }, nil
}
