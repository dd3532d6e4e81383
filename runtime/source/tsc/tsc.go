// Package tsc converts times of perf's clock to values of the CPU's time stamp
// counter, and values of the counter to the clocks of virtual machines (guests).
package tsc

import (
	"math/bits"

	"ppscript/runtime/event"
)

// A TSC has the factors between perf's clock and the counter. The kernel stores
// them in the first page of a ring (struct perf_event_mmap_page; see the comment on
// time_zero there).
type TSC struct {
	Mult  uint32
	Shift uint16
	Zero  uint64
}

// Cycles returns the value of the counter at time t.
//
// Fast path: this runs for every event. The remainder keeps the bits that the
// division would lose; both products fit, since shift is at most 32.
func (c TSC) Cycles(t event.Time) uint64 {
	ns := uint64(t) - c.Zero
	q, r := ns/uint64(c.Mult), ns%uint64(c.Mult)
	return q<<c.Shift + (r<<c.Shift)/uint64(c.Mult)
}

// A PVClock has the parameters that derive a guest's kvmclock from the guest's
// counter (struct pvclock_vcpu_time_info), and the guest's counter from the
// host's (Offset, Ratio and FracBits, from the virtual machine).
type PVClock struct {
	TSCTimestamp uint64
	SystemTime   uint64
	Mul          uint32
	Shift        int8
	// The guest's counter is the host's times Ratio plus Offset. Ratio is a
	// fixed-point number with FracBits fractional bits; 0 means 1.
	Offset   uint64
	Ratio    uint64
	FracBits uint
}

// guestTSC returns the guest's counter when the host's is tsc.
func (p *PVClock) guestTSC(tsc uint64) uint64 {
	if p.Ratio != 0 && p.FracBits > 0 {
		hi, lo := bits.Mul64(tsc, p.Ratio)
		tsc = hi<<(64-p.FracBits) | lo>>p.FracBits
	}
	return tsc + p.Offset
}

// Time returns the guest's kvmclock, in ns, when the host's counter is tsc. It
// is also valid for times before the last update of the clock.
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
