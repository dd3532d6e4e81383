package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// LHist counts numbers into buckets of Agg.Step from Agg.Lo to Agg.Hi; values
// below and above have a bucket each.
var LHist = &Op{
	Name:    "lhist",
	Numeric: true,
	New: func(a *Agg, _ *Workspace) State {
		return &histogram{agg: a, bucket: linearBucket, counts: make([]uint64, linearCounters(a))}
	},
	Bounds: linearBounds,
	Kernel: &KernelState{Sum: true, Counters: linearCounters, Linear: true},
}

// linearCounters computes in 64 bits without a sign: Hi - Lo is up to 2^64 - 1.
func linearCounters(a *Agg) int { return int((uint64(a.Hi)-uint64(a.Lo)-1)/uint64(a.Step)) + 3 }

func linearBucket(a *Agg, n event.Number) int {
	v := n.Int()
	switch {
	case v < a.Lo:
		return 0
	case v >= a.Hi:
		return linearCounters(a) - 1
	}
	return int((uint64(v)-uint64(a.Lo))/uint64(a.Step)) + 1
}

func linearBounds(a *Agg, i, n int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, a.Lo
	case n - 1:
		return a.Hi, result.OpenHi
	}
	lo = a.Lo + int64(i-1)*a.Step
	if uint64(a.Hi)-uint64(lo) < uint64(a.Step) {
		return lo, a.Hi
	}
	return lo, lo + a.Step
}
