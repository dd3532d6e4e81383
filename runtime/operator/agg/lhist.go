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
	Kernel: &Kept{Sum: true, Counters: linearCounters, Linear: true},
}

func linearCounters(a *Agg) int { return int((a.Hi-a.Lo+a.Step-1)/a.Step) + 2 }

func linearBucket(a *Agg, n event.Number) int {
	v := n.Int()
	switch {
	case v < a.Lo:
		return 0
	case v >= a.Hi:
		return linearCounters(a) - 1
	}
	return int((v-a.Lo)/a.Step) + 1
}

func linearBounds(a *Agg, i, n int) (lo, hi int64) {
	switch i {
	case 0:
		return result.OpenLo, a.Lo
	case n - 1:
		return a.Hi, result.OpenHi
	}
	lo = a.Lo + int64(i-1)*a.Step
	return lo, min(lo+a.Step, a.Hi)
}
