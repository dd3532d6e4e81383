package tsc

import (
	"math/big"
	"math/rand"
	"testing"

	"ppscript/runtime/event"
)

// The relation of the kernel's comment: cycles = (quot << shift) + ((rem <<
// shift) / mult), of which time = zero + (cycles * mult >> shift) is the
// reverse.
func TestCyclesIsTheReverseOfTheKernelsClock(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 10_000 {
		c := TSC{
			Mult:  rnd.Uint32()>>8 + 1<<20,
			Shift: uint16(20 + rnd.Intn(12)),
			Zero:  uint64(rnd.Int63n(1e15)),
		}
		cycles := uint64(rnd.Int63n(1 << 52))
		ns := new(big.Int).Mul(new(big.Int).SetUint64(cycles), big.NewInt(int64(c.Mult)))
		ns.Rsh(ns, uint(c.Shift))
		if ns.BitLen() > 60 {
			continue
		}
		got := c.Cycles(event.Time(ns.Uint64() + c.Zero))
		// One ns is at most 2^shift/mult cycles, rounded up.
		if most := uint64(1)<<c.Shift/uint64(c.Mult) + 2; cycles-got > most {
			t.Fatalf("%+v: got %d cycles, want %d less at most %d", c, got, cycles, most)
		}
	}
}

func TestPVClock(t *testing.T) {
	f := func(p PVClock, tsc uint64, want event.Time) {
		t.Helper()
		if got := p.Time(tsc); got != want {
			t.Errorf("%+v at %d: got %d, want %d", p, tsc, got, want)
		}
	}
	// A counter of 2 GHz: a cycle is half a ns, mul is 2^31.
	p := PVClock{TSCTimestamp: 1_000_000, SystemTime: 5000, Mul: 1 << 31}
	f(p, 1_000_000, 5000)
	f(p, 1_002_000, 6000)
	f(p, 998_000, 4000)             // before the update
	p.Offset = ^uint64(0) - 499_999 // -500,000: the guest began later
	f(p, 1_502_000, 6000)
	p.Shift = -1 // 4 GHz
	f(p, 1_504_000, 6000)
	// the guest's counter is half as fast again
	p = PVClock{TSCTimestamp: 2000, SystemTime: 0, Mul: 1 << 31, Ratio: 3 << 31, FracBits: 32}
	f(p, 4000, 2000)

	rnd := rand.New(rand.NewSource(2))
	for range 10_000 {
		p := PVClock{
			TSCTimestamp: uint64(rnd.Int63n(1 << 50)),
			SystemTime:   uint64(rnd.Int63n(1 << 50)),
			Mul:          rnd.Uint32() | 1<<31,
			Shift:        int8(rnd.Intn(5) - 2),
		}
		tsc := p.TSCTimestamp + uint64(rnd.Int63n(1<<45))
		if got, want := p.Time(tsc), p.exact(tsc); big.NewInt(int64(got)).Cmp(want) != 0 {
			t.Fatalf("%+v at %d: got %d, want %d", p, tsc, got, want)
		}
	}
}

// exact is the definition of Time, for tests: without rounding to 64 bits.
func (p *PVClock) exact(guest uint64) *big.Int {
	d := new(big.Int).Sub(new(big.Int).SetUint64(guest), new(big.Int).SetUint64(p.TSCTimestamp))
	if p.Shift >= 0 {
		d.Lsh(d, uint(p.Shift))
	} else {
		d.Rsh(d, uint(-p.Shift))
	}
	d.Mul(d, new(big.Int).SetUint64(uint64(p.Mul)))
	d.Rsh(d, 32)
	return d.Add(d, new(big.Int).SetUint64(p.SystemTime))
}
