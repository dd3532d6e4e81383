package tracedat

import (
	"math/bits"
	"ppscript/runtime/source/bytecursor"
	"sort"
)

// This file converts times of records to ns. Most clocks already count ns. The
// times of a guest (a virtual machine) are converted to the clock of its host,
// by the corrections that trace-cmd measured between the two clocks while it
// recorded.

// A clock converts the times of a file to ns.
type clock struct {
	offset int64 // ns to add, from trace-cmd record --ts-offset
	// If the clock counts the CPU's cycles, ns = (cycles * mult) >> bits; else
	// mult is 0.
	mult, bits uint32
	shifts     []shifts // by CPU; the last one is for all further CPUs
	even       bool     // corrections are interpolated between the measured ones
}

// shifts are the measured corrections of one CPU of a guest, by ascending
// times.
type shifts struct {
	times, offsets []int64
	scales         []uint64
	fractions      []uint64 // number of fractional bits of each scale; nil means 0
}

// settle completes the clock after all options were read.
func (k *clock) settle(f *Facts) {
	if f.Clock == "" {
		f.Clock = "local"
	}
	switch {
	case k.mult != 0:
		f.Clock = "tsc2nsec"
	case f.Clock == "counter":
		f.Unit = "events"
	case f.Clock == "x86-tsc" || f.Clock == "ppc-tb":
		f.Unit = "cycles"
	}
}

// shift reads the corrections of a guest's times.
func (k *clock) shift(c *bytecursor.Cursor) {
	c.U64() // the identifier of the host's recording
	const interpolate = 1
	k.even = c.U32()&interpolate != 0
	list := func(n int) []uint64 {
		all := make([]uint64, 0, n)
		for range n {
			all = append(all, c.U64())
		}
		return all
	}
	signed := func(n int) []int64 {
		all := make([]int64, 0, n)
		for range n {
			all = append(all, int64(c.U64()))
		}
		return all
	}
	var cpus []shifts
	for range c.Count(4) {
		n := c.Count(3 * 8)
		cpus = append(cpus, shifts{times: signed(n), offsets: signed(n), scales: list(n)})
	}
	if c.Err != nil {
		return
	}
	// Newer files have the numbers of fractional bits after the lists.
	if len(c.B) > 0 {
		for i := range cpus {
			n := len(cpus[i].times)
			if uint64(len(c.B)) < uint64(n)*8 {
				break
			}
			cpus[i].fractions = list(n)
		}
	}
	k.shifts = cpus
}

// time converts a time of a CPU to ns.
//
// Fast path: for most clocks it only adds the offset.
func (k *clock) time(t uint64, cpu int32) int64 {
	if k.shifts != nil {
		t = uint64(k.corrected(int64(t), cpu))
	}
	if k.mult != 0 {
		hi, lo := bits.Mul64(t, uint64(k.mult))
		if n := k.bits & 63; n != 0 {
			lo = lo>>n | hi<<(64-n)
		}
		t = lo
	}
	return int64(t) + k.offset
}

// corrected converts a guest's time to the host's clock, by the corrections
// that were measured before and after it.
func (k *clock) corrected(t int64, cpu int32) int64 {
	s := &k.shifts[min(int(cpu), len(k.shifts)-1)]
	n := len(s.times)
	if n == 0 {
		return t
	}
	i := sort.Search(n, func(i int) bool { return s.times[i] > t })
	switch {
	case i == 0:
		return s.at(0, t)
	case i == n || !k.even:
		return s.at(i-1, t)
	}
	before, after := s.at(i-1, t), s.at(i, t)
	span := s.times[i] - s.times[i-1]
	return before + int64(float64(after-before)*float64(t-s.times[i-1])/float64(span))
}

func (s *shifts) at(i int, t int64) int64 {
	if s.fractions != nil && i < len(s.fractions) && s.scales[i] != 0 {
		hi, lo := bits.Mul64(uint64(t), s.scales[i])
		if n := s.fractions[i] & 63; n != 0 {
			lo = lo>>n | hi<<(64-n)
		}
		t = int64(lo)
	} else if s.scales[i] > 1 {
		t *= int64(s.scales[i])
	}
	return t + s.offsets[i]
}
