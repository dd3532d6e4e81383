package agg

import (
	"math"

	"ppscript/runtime/event"
)

// StdDev is how far numbers lie from their mean.
var StdDev = &Op{
	Name:    "stddev",
	Summary: "Measures how far the values of a number lie from their mean.",
	Result:  "the standard deviation of a sample, as perf stat -r has it; nothing for less than two values",
	Cost:    "10 ns per event",
	Numeric: true,
	Column:  Column{Width: 12},
	New:     func(a *Agg, _ *Workspace) State { return &deviation{agg: a} },
}

// deviation is the mean of the values so far, and the sum of the squares of their
// distances from it. Welford's method keeps both without large sums, whose
// difference would lose the digits that count. Values are told from the first
// one, so that those of large numbers, such as addresses, keep their digits too.
type deviation struct {
	agg     *Agg
	n       float64
	first   int64
	mean    float64 // less first
	squares float64
}

func (d *deviation) Add(v int64) {
	if d.n == 0 {
		d.first = v
	}
	x := float64(v - d.first)
	d.n++
	away := x - d.mean
	d.mean += away / d.n
	d.squares += away * (x - d.mean)
}

func (d *deviation) Merge(o State) {
	p := o.(*deviation)
	if p.n == 0 {
		return
	}
	if d.n == 0 {
		d.first = p.first
	}
	away, n := float64(p.first-d.first)+p.mean-d.mean, d.n+p.n
	d.squares += p.squares + away*away*d.n*p.n/n
	d.mean += away * p.n / n
	d.n = n
}

// Cell is in whole ns for durations, and has a fraction for other numbers.
func (d *deviation) Cell() event.Value {
	if d.n < 2 {
		return event.Value{}
	}
	x := math.Sqrt(d.squares / (d.n - 1))
	if d.agg.Type.Unit == event.Nanos {
		return event.DurationOf(int64(math.Round(x)))
	}
	return event.FloatOf(x)
}

func (d *deviation) Reset() { d.n, d.mean, d.squares = 0, 0, 0 }
