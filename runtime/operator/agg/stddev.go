package agg

import (
	"math"

	"ppscript/runtime/event"
)

// StdDev computes the standard deviation of numbers.
var StdDev = &Op{
	Name:    "stddev",
	Summary: "Measures how far the values of a number lie from their mean.",
	Result:  "the standard deviation of a sample, as perf stat -r has it; nothing for fewer than two values",
	Cost:    "10 ns per event",
	Numeric: true,
	Column:  Column{Width: 12},
	New:     func(a *Agg, _ *Workspace) State { return &deviation{agg: a} },
}

// deviation holds the mean of the values so far, and the sum of the squares of
// their distances from it. Welford's method keeps both without large sums, whose
// difference would lose the last digits. Values are taken relative to the first
// one, so that large numbers, such as addresses, keep their digits too.
type deviation struct {
	agg     *Agg
	n       float64
	first   event.Number
	mean    float64 // relative to first
	squares float64
	// scale is a power of two by which values are divided, so that the squares of the largest
	// doubles do not overflow.
	scale int
}

const (
	// large is a distance whose squares can be added up without overflow.
	large = 1 << 400
	// rescale sets scale so that every distance is below large.
	rescale = 700
)

// from is the distance of v from the first value, scaled.
func (d *deviation) from(v event.Number) float64 {
	if v.Kind() != event.FloatValue && d.first.Kind() != event.FloatValue {
		x := TotalOf(v).less(TotalOf(d.first)).Float()
		if d.scale != 0 {
			x = math.Ldexp(x, -d.scale)
		}
		return x
	}
	x := v.Float() - d.first.Float()
	if d.scale == 0 && math.Abs(x) <= large {
		return x
	}
	// Slow path: numbers beyond all that is measured.
	if d.scale == 0 {
		d.rescale(rescale)
	}
	return math.Ldexp(v.Float(), -d.scale) - math.Ldexp(d.first.Float(), -d.scale)
}

func (d *deviation) rescale(to int) {
	d.mean, d.squares = math.Ldexp(d.mean, d.scale-to), math.Ldexp(d.squares, 2*(d.scale-to))
	d.scale = to
}

func (d *deviation) Add(v event.Number) {
	if d.n == 0 {
		d.first = v
	}
	x := d.from(v)
	d.n++
	away := x - d.mean
	d.mean += away / d.n
	d.squares += away * (x - d.mean)
}

func (d *deviation) Merge(o State) {
	p := *o.(*deviation)
	if p.n == 0 {
		return
	}
	if d.n == 0 {
		d.first = p.first
	}
	apart := d.from(p.first)
	if d.scale > p.scale {
		p.rescale(d.scale)
	} else if p.scale > d.scale {
		apart = math.Ldexp(apart, d.scale-p.scale)
		d.rescale(p.scale)
	}
	away, n := apart+p.mean-d.mean, d.n+p.n
	d.squares += p.squares + away*away*d.n*p.n/n
	d.mean += away * p.n / n
	d.n = n
}

// Cell returns whole ns for durations, and a number with a fraction otherwise.
func (d *deviation) Cell() event.Value {
	if d.n < 2 {
		return event.Value{}
	}
	x := math.Ldexp(math.Sqrt(d.squares/(d.n-1)), d.scale)
	if d.agg.Type.Unit == event.Nanos {
		return event.DurationOf(int64(math.Round(x)))
	}
	return event.FloatOf(x)
}

func (d *deviation) Reset() { d.n, d.mean, d.squares, d.scale = 0, 0, 0, 0 }
