// Package agg groups events by key and aggregates them: counts, sums, means,
// quantiles, histograms. Plan builds a Group, flow feeds it, session reads
// its rows at every interval.
//
// Each aggregator is an Op. To add one, write it in ops.go, and its name into Ops there: the
// builtin agg.NAME, its help, its column and its place in the kernel's rows follow from the
// Op's members.
//
// The number of keys is bounded; keys that do not fit are counted as evicted.
package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// An Op is one aggregator: its state for each row, and how a cell is computed
// from it. A row has a Measure for each argument, which all aggregators of the
// argument share. An Op that needs more has a State for each row.
type Op struct {
	Name string

	// Summary, Result and Cost are its lines in the reference.
	Summary, Result, Cost string

	// Bare says that the aggregator takes no argument, as count does.
	Bare bool
	// Numeric says that the argument must be a number; else it may be a text.
	Numeric bool
	// Param is a parameter besides the argument; nil is none.
	Param *Param

	// moves says which linear functions may be applied to the cell instead of to each argument
	// (linear.go).
	moves moves

	Column Column
	// Ordered says that its cell depends on the order of the events.
	Ordered bool

	// Cell makes the cell of a row from the measure, if that is enough.
	Cell func(a *Agg, m *Measure) event.Value
	// New makes the state of a row beyond its measure; nil if there is none.
	New func(a *Agg, w *Workspace) State
	// Bounds returns the bounds lo <= v < hi of the i-th of n counters. Only
	// histograms have it.
	Bounds func(a *Agg, i, n int) (lo, hi int64)

	// Kernel describes the aggregator's part of a row in the kernel's map; nil
	// says that it needs the events in user space.
	Kernel *KernelState
}

// A Column says how the cells of an aggregator are shown.
type Column struct {
	// Width is the least width of the column, in characters.
	Width int
	// Plain says that the cells are counts, without the unit of the argument.
	Plain bool
	// Stacks says that a cell shows the stacks that the argument yields.
	Stacks bool
	// Values says that a cell is a value of the argument, or a list of some.
	Values bool
	// Merging says how cells of several machines are merged into one.
	Merging result.Merging
}

// Histogram says whether the aggregator makes a histogram: a result of its
// own, not a column.
func (o *Op) Histogram() bool { return o.Bounds != nil }

// KernelState lists the numbers that the kernel keeps for an argument besides its count of values.
type KernelState struct {
	Sum, Min, Max bool
	// Sketch counts into log-linear buckets, see Bucket.
	Sketch bool
	// Oldest and Newest keep one value, a number or a text, with its time.
	Oldest, Newest bool
	// Greatest and Least keep one value with its rank: the Arg has one.
	Greatest, Least bool
	// Counters is the number of counters of a histogram; nil is no histogram.
	Counters func(a *Agg) int
	// Linear says that the counters have equal width, Agg.Step; else there is
	// one for each bit length.
	Linear bool
}

// A Param is a number that an aggregator takes besides its argument.
type Param struct {
	Name, Doc string
	Whole     bool    // an integer
	Required  bool    // else Default is taken
	Default   float64 // used if the parameter is not given
	Example   string  // as the reference's example writes it; "" leaves it out
	// Set checks the number and stores it in the Agg. The error tells the
	// allowed range; the hint may be empty.
	Set func(a *Agg, v float64) (hint string, err error)
}

// An Agg is one aggregated column.
type Agg struct {
	Op  *Op
	Arg int     // index in Spec.Args
	Q   float64 // Quantile: the share
	N   int     // Top: how many values
	// Lo, Hi and Step are the bounds of a linear histogram.
	Lo, Hi, Step int64
	// Linear is the function whose numbers are aggregated; nil aggregates the argument itself.
	Linear Linear
	// Type is the type of the values, as far as it is known before the run. A sum of no values has
	// it.
	Type event.Type
}

// A State is the memory of an aggregator for one row, beyond the measure. A
// State that takes texts also implements textState. If States of different
// readers can be added up, it implements merger; if the kernel can count it,
// partialState.
type State interface {
	Add(n event.Number)
	// Cell is called after at least one value was added.
	Cell() event.Value
	// Reset empties the state, and keeps memory that was in use since the last
	// Reset.
	Reset()
}

// A textState takes values that are not numbers.
type textState interface {
	State
	AddValue(v event.Value)
}

// A rankedState keeps values by their ranks: its Arg has a Rank.
type rankedState interface {
	AddRanked(rank event.Number, v event.Value)
}

// A merger adds the content of o, a State of the same Agg.
type merger interface{ Merge(o State) }

// A partialState adds the part of argument arg of p.
type partialState interface{ AddPartial(p *Partial, arg int) }

// A Workspace is scratch memory that the states of a Group share.
type Workspace struct {
	pack    []byte // buffer for packing a value before its look-up
	evicted uint64 // values not kept because of a bound
	one     [1]*event.Event
}
