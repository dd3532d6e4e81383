package poll

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bells are the bells of a source (see the package comment). They are opened
// switched off, and wake the Poller while they are on.
type Bells struct {
	On bool // they are switched on

	fds   []int
	mems  [][]byte    // rings with one page of data each
	owner map[int]int // descriptor of the bell that owns the ring, by ring of the events
}

// Open opens a bell. raise opens its event. Bells of events that share a ring share
// one too; ring is the number of the events' ring.
func (b *Bells) Open(p *Poller, ring int, filter string, raise func() (fd int, err error)) (err error) {
	fd, err := raise()
	if err != nil {
		return err
	}
	b.fds = append(b.fds, fd)
	if filter != "" {
		if err := SetFilter(fd, filter); err != nil {
			return err
		}
	}
	if first, ok := b.owner[ring]; ok {
		return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, first)
	}
	mem, err := unix.Mmap(fd, 0, 2*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	b.mems = append(b.mems, mem)
	if b.owner == nil {
		b.owner = map[int]int{}
	}
	b.owner[ring] = fd
	return p.Edge(fd, bellTag)
}

// Len is the number of bells.
func (b *Bells) Len() int { return len(b.fds) }

// Switch switches the bells on or off, and reports whether that succeeded.
func (b *Bells) Switch(on bool) bool {
	request := uint(unix.PERF_EVENT_IOC_DISABLE)
	if on {
		request = unix.PERF_EVENT_IOC_ENABLE
		for _, mem := range b.mems {
			page := pageOf(mem)
			atomic.StoreUint64(&page.Data_tail, atomic.LoadUint64(&page.Data_head))
		}
	}
	ok := true
	for _, fd := range b.fds {
		ok = unix.IoctlSetInt(fd, request, 0) == nil && ok
	}
	b.On = on && ok
	return ok
}

// Rang reports that a bell has rung since they were switched on.
func (b *Bells) Rang() bool {
	for _, mem := range b.mems {
		page := pageOf(mem)
		if b.On && atomic.LoadUint64(&page.Data_head) != atomic.LoadUint64(&page.Data_tail) {
			return true
		}
	}
	return false
}

func pageOf(mem []byte) *unix.PerfEventMmapPage {
	return (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(mem)))
}

// Close closes the bells; new ones can be opened afterwards.
func (b *Bells) Close() {
	for _, mem := range b.mems {
		_ = unix.Munmap(mem)
	}
	for _, fd := range b.fds {
		_ = unix.Close(fd)
	}
	*b = Bells{}
}

// BellOf returns the attr of an event's bell. Its samples have only a header,
// and each wakes the reader.
func BellOf(a unix.PerfEventAttr) unix.PerfEventAttr {
	a.Sample_type, a.Read_format, a.Branch_sample_type = 0, 0, 0
	a.Sample_regs_user, a.Sample_regs_intr, a.Sample_stack_user, a.Sample_max_stack = 0, 0, 0, 0
	a.Bits &^= unix.PerfBitWatermark | unix.PerfBitWriteBackward | unix.PerfBitSampleIDAll |
		unix.PerfBitEnableOnExec
	a.Bits |= unix.PerfBitDisabled
	a.Wakeup = 1
	return a
}

// runTime is the CPU time of a thread after which its bell rings.
const runTime = time.Millisecond

// ThreadBells returns the attrs of two bells for a thread, which replace bells for
// its events. They have the bits kept of a, the attr of an event.
func ThreadBells(a *unix.PerfEventAttr, kept uint64) []unix.PerfEventAttr {
	bell := unix.PerfEventAttr{
		Type:    unix.PERF_TYPE_SOFTWARE,
		Size:    a.Size,
		Config:  unix.PERF_COUNT_SW_CONTEXT_SWITCHES,
		Sample:  1,
		Wakeup:  1,
		Clockid: a.Clockid,
		Bits:    unix.PerfBitDisabled | a.Bits&kept,
	}
	runs := bell
	runs.Config, runs.Sample = unix.PERF_COUNT_SW_TASK_CLOCK, uint64(runTime)
	return []unix.PerfEventAttr{bell, runs}
}
