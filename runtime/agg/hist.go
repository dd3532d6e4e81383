package agg

import (
	"math/bits"

	"ppscript/runtime/result"
)

// powers is the number of counters of a Hist: one for each bit length, and
// one for values of 0 and less.
const powers = 65

// Hist counts numbers into power-of-two buckets.
var Hist = &Op{
	Name:    "hist",
	Numeric: true,
	New: func(a *Agg, _ *Workspace) State {
		return &histogram{agg: a, bucket: powerBucket, counts: make([]uint64, powers)}
	},
	Bounds: powerBounds,
	Kernel: &Kept{Sum: true, Counters: func(*Agg) int { return powers }},
}

func powerBucket(_ *Agg, v int64) int {
	if v <= 0 {
		return 0
	}
	return bits.Len64(uint64(v))
}

func powerBounds(_ *Agg, i, _ int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, 1
	case 63, 64:
		return 1 << 62, result.OpenHi
	}
	return 1 << (i - 1), 1 << i
}
