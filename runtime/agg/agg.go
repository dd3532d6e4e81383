// Package agg groups events by key and aggregates them: counts, sums, means,
// quantiles, histograms. Plan builds a Group, flow feeds it, session reads
// its rows at every interval.
//
// The number of keys is bounded; what does not fit is counted as evicted.
package agg

import "ppscript/runtime/event"

// Op is what an aggregator computes.
type Op uint8

const (
	Count Op = iota
	Sum
	Min
	Max
	Avg
	Quantile // Agg.Q
	Hist     // power-of-two buckets
	LHist    // linear buckets of Agg.Step from Agg.Lo to Agg.Hi
	Last     // the newest value
	First    // the oldest value
	Distinct // number of different values, up to a bound
	List     // all values in order, up to a bound
	Top      // the Agg.N most frequent values, each with its count
)

// extra reports that the aggregator needs more than a measure.
func (o Op) extra() bool { return o >= Quantile }

// An Agg is one aggregated column.
type Agg struct {
	Op  Op
	Arg int // index in Spec.Args
	Q   float64
	N   int // Top
	// Lo, Hi and Step are the bounds of a linear histogram.
	Lo, Hi, Step int64
	// Kind is what the values are, so that a maximum of durations is one.
	Kind event.ValueKind
}

// value makes a Value of the aggregator's kind.
func (a *Agg) value(n int64) event.Value {
	switch a.Kind {
	case event.DurationValue:
		return event.DurationOf(n)
	case event.TimeValue:
		return event.TimeOf(event.Time(n))
	case event.UintValue:
		return event.UintOf(uint64(n))
	case event.BoolValue:
		return event.BoolOf(n != 0)
	}
	return event.IntOf(n)
}
