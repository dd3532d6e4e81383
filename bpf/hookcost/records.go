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

// This file measures what it costs a thread that the kernel writes a record of an event into a ring.

// Records are what records cost those for whom they are written.
type Records struct {
	Each time.Duration // a small one
	// Idle is what a hit costs while the event is off, but open.
	Idle  time.Duration
	small uint64 // bytes of a small one
}

// A Hook is what an event hangs on.
type Hook int

const (
	OfTracepoint Hook = iota
	OfKernel          // a probe
	OfProgram         // likewise
	OfSamples         // an interrupt: nothing, while it is off
)

const (
	// slowRecord is taken where it cannot be tried.
	slowRecord = 600 * time.Nanosecond
	// perByte is what each byte more costs, ns: frames of a stack that are looked for cost about ten
	// times as much as bytes that are copied, and are the usual reason for large records.
	perByte = 0.5
	// usual is the size of a record where it cannot be tried.
	usual = 100
	// priced are the members of samples that are tried; stacks and copies have their price by size.
	priced = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR |
		unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD |
		unix.PERF_SAMPLE_STREAM_ID | unix.PERF_SAMPLE_IDENTIFIER
)

// Of is what so many records with so many bytes cost, ns.
func (r *Records) Of(n, bytes uint64) uint64 {
	more := float64(bytes) - float64(n*r.small)
	return n*uint64(r.Each) + uint64(max(more, 0)*perByte)
}

// Small is how many bytes a small one has.
func (r *Records) Small() uint64 { return r.small }

// MeasureRecords takes some milliseconds. Samples have those members, and the bytes of the event; the
// dearest of the hooks counts.
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

// A ring has records written for this thread's system calls, which nobody reads: the newest stay.
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
	// It is woken as seldom as for the rings of a run.
	pages := 128
	attr.Wakeup = uint32(pages * unix.Getpagesize())
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// Memory that cannot be written to is overwritten: nobody says how far it was read.
	mem, err := unix.Mmap(fd, 0, (1+pages)*unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &ring{fd, mem}, nil
}

// written is how many bytes were written so far. The head goes backward from 0.
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
