// Package tsc converts times of perf's clock to the CPU's time stamp counter, and that
// to the clocks of guests.
package tsc

import (
	"math/bits"

	"ppscript/runtime/event"
)

// A TSC is the relation of the two clocks: the factors that the kernel keeps in the
// first page of a ring (struct perf_event_mmap_page, its comment on time_zero).
type TSC struct {
	Mult  uint32
	Shift uint16
	Zero  uint64
}

// Cycles is the counter at time t.
//
// Fast path: this runs for every event. The remainder keeps the bits that the
// division would lose; both products fit, since shift is at most 32.
func (c TSC) Cycles(t event.Time) uint64 {
	ns := uint64(t) - c.Zero
	q, r := ns/uint64(c.Mult), ns%uint64(c.Mult)
	return q<<c.Shift + (r<<c.Shift)/uint64(c.Mult)
}

// A PVClock is how a guest's kvmclock follows its counter, and that counter the
// host's: the parameters of struct pvclock_vcpu_time_info, and those of the
// virtual machine.
type PVClock struct {
	TSCTimestamp uint64
	SystemTime   uint64
	Mul          uint32
	Shift        int8
	// Offset and Ratio (with FracBits behind its point; 0 is one) make the
	// guest's counter of the host's.
	Offset   uint64
	Ratio    uint64
	FracBits uint
}

// guestTSC is the guest's counter when the host's is tsc.
func (p *PVClock) guestTSC(tsc uint64) uint64 {
	if p.Ratio != 0 && p.FracBits > 0 {
		hi, lo := bits.Mul64(tsc, p.Ratio)
		tsc = hi<<(64-p.FracBits) | lo>>p.FracBits
	}
	return tsc + p.Offset
}

// Time is the guest's kvmclock, in ns, when the host's counter is tsc. Times
// before the last update of the clock count too.
func (p *PVClock) Time(tsc uint64) event.Time {
	delta := int64(p.guestTSC(tsc) - p.TSCTimestamp)
	neg := delta < 0
	d := uint64(delta)
	if neg {
		d = -d
	}
	if p.Shift >= 0 {
		d <<= uint(p.Shift)
	} else {
		d >>= uint(-p.Shift)
	}
	hi, lo := bits.Mul64(d, uint64(p.Mul))
	ns := int64(hi<<32 | lo>>32)
	if neg {
		ns = -ns
	}
	return event.Time(int64(p.SystemTime) + ns)
}
