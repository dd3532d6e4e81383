package hookcost

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// This file measures the cost for a thread when the kernel writes a record of an event to a ring.

// Records are the costs of records for the threads that cause them.
type Records struct {
	Each time.Duration // cost of a small record
	// Idle is the cost of a hit while the event is open, but disabled.
	Idle  time.Duration
	small uint64 // bytes of a small record
}

// A Hook is the mechanism that triggers an event.
type Hook int

const (
	OfTracepoint Hook = iota
	OfKernel          // a probe in the kernel
	OfProgram         // a probe in a user program
	OfSamples         // an interrupt: no cost while the event is disabled
)

const (
	// slowRecord is used if the cost cannot be measured.
	slowRecord = 600 * time.Nanosecond
	// perByte is the cost of each further byte, in ns. Frames of a stack, which must be found, cost
	// about ten times as much as copied bytes, and are the usual reason for large records.
	perByte = 0.5
	// usual is the size of a record if it cannot be measured.
	usual = 100
	// priced lists the members of samples whose cost is measured; the cost of stacks and copies
	// follows from their size.
	priced = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR |
		unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD |
		unix.PERF_SAMPLE_STREAM_ID | unix.PERF_SAMPLE_IDENTIFIER
)

// Of is the cost of n records with so many bytes in all, in ns.
func (r *Records) Of(n, bytes uint64) uint64 {
	more := float64(bytes) - float64(n*r.small)
	return n*uint64(r.Each) + uint64(max(more, 0)*perByte)
}

// Small is the size of a small record in bytes.
func (r *Records) Small() uint64 { return r.small }

// MeasureRecords measures the costs of records whose samples have the members of sampleType and the
// raw bytes of the event. Each has the costs of all the hooks, Idle the cost of the most expensive
// one. Measuring takes some milliseconds.
func MeasureRecords(sampleType uint64, hooks ...Hook) Records {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := records(sampleType&priced | unix.PERF_SAMPLE_RAW)
	idle := time.Duration(0)
	for _, h := range hooks {
		switch h {
		case OfTracepoint:
			idle = max(idle, r.Idle)
		case OfKernel:
			cost := slowProbe
			if d, err := measure(ebpf.Kprobe, probe); err == nil {
				cost = d
			}
			r.Each, idle = max(r.Each, r.Each+cost-r.Idle), max(idle, cost)
		case OfProgram:
			r.Each, idle = r.Each+UserProbe, max(idle, UserProbe)
		case OfSamples:
			r.Each += Sample
		}
	}
	r.Idle = idle
	return r
}

// records measures the costs of records of a tracepoint.
func records(sampleType uint64) Records {
	r := Records{Each: slowRecord, Idle: slowTracepoint, small: usual}
	without := fastest()
	ring, err := openRing(sampleType)
	if err != nil {
		return r
	}
	defer func() { _ = ring.close() }()
	with := fastest()
	r.small = ring.written() / (rounds * calls)
	if unix.IoctlSetInt(ring.fd, unix.PERF_EVENT_IOC_DISABLE, 0) == nil {
		r.Idle = fastest()
	}
	_ = ring.close()
	without = min(without, fastest())
	r.Each, r.Idle = max(with-without, 50*time.Nanosecond), max(r.Idle-without, 0)
	return r
}

// ring is a ring of records of this thread's system calls, which are never read: newer records
// overwrite older ones.
type ring struct {
	fd  int
	mem []byte
}

func openRing(sampleType uint64) (*ring, error) {
	id, err := sysEnter()
	if err != nil {
		return nil, err
	}
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1,
		Sample_type: sampleType, Bits: unix.PerfBitWriteBackward | unix.PerfBitWatermark}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	// The reader would be woken as rarely as for the rings of a run.
	pages := 128
	attr.Wakeup = uint32(pages * unix.Getpagesize())
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// With read-only memory the kernel overwrites old records, as it cannot know how
	// far they were read.
	mem, err := unix.Mmap(fd, 0, (1+pages)*unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &ring{fd, mem}, nil
}

// written is the number of bytes written so far. The head moves backward from
// 0.
func (r *ring) written() uint64 {
	head := &(*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(r.mem))).Data_head
	return -atomic.LoadUint64(head)
}

func (r *ring) close() error {
	if r.mem == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(r.mem), unix.Close(r.fd))
	r.mem = nil
	return err
}
