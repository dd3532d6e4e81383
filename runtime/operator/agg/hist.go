package agg

import (
	"math/bits"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// powers is the number of counters of a Hist: one for negative numbers, one for numbers from 0 to
// less than 1, and one for each bit length. The last one counts all numbers from 1<<62 on.
const powers = 65

// Hist counts numbers into power-of-two buckets.
var Hist = &Op{
	Name:    "hist",
	Numeric: true,
	New: func(a *Agg, _ *Workspace) State {
		return &histogram{agg: a, bucket: powerBucket, counts: make([]uint64, powers)}
	},
	Bounds: powerBounds,
	Kernel: &KernelState{Sum: true, Counters: func(*Agg) int { return powers }},
}

func powerBucket(_ *Agg, n event.Number) int {
	size, negative := n.Magnitude()
	if negative {
		return 0
	}
	return min(bits.Len64(size)+1, powers-1)
}

func powerBounds(_ *Agg, i, _ int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, 0
	case 1:
		return 0, 1
	case powers - 1:
		return 1 << 62, result.OpenHi
	}
	return 1 << (i - 2), 1 << (i - 1)
}
