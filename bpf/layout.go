package bpf

import "ppscript/runtime/expr"

// This file settles where the rows of tables keep their keys and values.

// A column of a key.
type column struct {
	text  bool
	stack bool
	off   int
	size  int
}

// valueLayout is where a row keeps what; offsets in bytes, -1 is nowhere.
//
//	u64 hits   events of the row
//	u64 first  when the row was made, ns
//	for each argument: n, sum, min, max, a histogram, as far as needed
type valueLayout struct {
	size   int
	args   []argLayout
	dense  bool // small integer keys have an array
	sketch bool // some argument has log-linear buckets, in a map of their own
	self   int  // with sketch: the address of the row, the key of its buckets
}

type argLayout struct {
	n, sum, min, max int
	hist, nhist      int // first counter, number of them
	agg              int // index of the histogram's aggregator
	sketch           bool
}

const (
	hitsAt  = 0
	firstAt = 8
)

// denseRows is how many rows the array has that small integer keys use:
// system calls, interrupts, CPUs. An array costs a fraction of a hash.
const denseRows = 512

// denseSize bounds the value of such rows.
const denseSize = 160

// layout settles where the rows of t keep what.
func (t *table) layout() {
	v := &t.value
	v.size = 16
	word := func() int {
		v.size += 8
		return v.size - 8
	}
	v.args = make([]argLayout, len(t.spec.Args))
	for i := range v.args {
		a := &v.args[i]
		*a = argLayout{n: word(), sum: -1, min: -1, max: -1, hist: -1}
		for k := range t.spec.Aggs {
			g := &t.spec.Aggs[k]
			if g.Arg != i {
				continue
			}
			need := func(at *int) {
				if *at < 0 {
					*at = word()
				}
			}
			kept := g.Op.Kernel
			if kept == nil {
				refuse("%s needs the events themselves", g.Op.Name)
			}
			if kept.Sum {
				need(&a.sum)
			}
			if kept.Min {
				need(&a.min)
			}
			if kept.Max {
				need(&a.max)
			}
			if kept.Sketch {
				a.sketch, v.sketch = true, true
			}
			if kept.Counters == nil {
				continue
			}
			if a.hist >= 0 {
				refuse("two histograms of one argument")
			}
			a.agg, a.hist, a.nhist = k, v.size, kept.Counters(g)
			if a.nhist < 2 || a.nhist > 2048 {
				refuse("a histogram of %d counters", a.nhist)
			}
			v.size += 8 * a.nhist
		}
	}
	if v.sketch {
		v.self = word()
	}
	if v.size > 30<<10 {
		refuse("rows of %d bytes", v.size)
	}
	v.dense = len(t.cols) == 1 && !t.cols[0].text && !t.cols[0].stack && v.size <= denseSize
}

// columnsOf settles the layout of a key from all that feeds its table or fold.
func columnsOf(feeds []keyed) (cols []column, size int) {
	for i := range feeds[0].keys {
		col := column{off: size}
		for k, f := range feeds {
			n := f.keys[i]
			switch {
			case isStack(n):
				col.stack, col.size = true, stackKey
				f.source.stackOf(n)
				f.source.stacked = true
			case n.Type().Kind == expr.Str:
				col.text, col.size = true, max(col.size, f.env.room(n))
			case n.Type().Numeric():
				col.size = 8
			default:
				refuse("key %s is a %s", n, n.Type())
			}
			if k > 0 && (col.text != (n.Type().Kind == expr.Str) || col.stack != isStack(n)) {
				refuse("key %s has two kinds", n)
			}
		}
		size += col.size
		cols = append(cols, col)
	}
	if size == 0 {
		size = 8 // one row: key 0
	}
	return cols, size
}

// keyed is the expressions of a key, of one source or of events that are made of it.
type keyed struct {
	source *source
	env    env
	keys   []expr.Node
}
