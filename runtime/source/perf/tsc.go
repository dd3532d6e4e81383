package perf

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/tsc"
)

// A bit of the page's capabilities: time_zero and the factors are valid.
const capUserTimeZero = 1 << 4

// errNoTSC is the error if the kernel does not publish the relation of its
// clock to the TSC.
var errNoTSC = errors.New("the kernel does not report how its clock and the time stamp counter are " +
	"related: its clock source is another, or the counter is not stable")

// TSC returns the relation of perf's clock to the time stamp counter, which
// does not change while the machine runs.
func (s *Source) TSC() (tsc.TSC, error) {
	for _, r := range s.rings {
		r, ok := r.(*ring)
		if !ok || r.page == nil || r.page.Capabilities&capUserTimeZero == 0 || r.page.Time_mult == 0 {
			continue
		}
		return tsc.TSC{Mult: r.page.Time_mult, Shift: r.page.Time_shift, Zero: r.page.Time_zero}, nil
	}
	return OwnTSC()
}

// OwnTSC reads the relation from a dummy event, since all events of a run may come from programs of
// the kernel, whose buffers have no such page.
func OwnTSC() (tsc.TSC, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: unix.PERF_ATTR_SIZE_VER0, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return tsc.TSC{}, err
	}
	defer unix.Close(fd)
	mem, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return tsc.TSC{}, err
	}
	defer unix.Munmap(mem)
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))
	if page.Capabilities&capUserTimeZero == 0 || page.Time_mult == 0 {
		return tsc.TSC{}, errNoTSC
	}
	return tsc.TSC{Mult: page.Time_mult, Shift: page.Time_shift, Zero: page.Time_zero}, nil
}
