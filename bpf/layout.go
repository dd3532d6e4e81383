package bpf

import (
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file settles where the rows of tables keep their keys and values.

// denseRows is how many rows the array has that small integer keys use:
// system calls, interrupts, CPUs. An array costs a fraction of a hash.
const denseRows = 512

// denseSize bounds the value of such rows.
const denseSize = 160

// layOut settles where the rows of t keep what.
func layOut(t *load.Table) {
	v := &t.Value
	v.Size = 16
	word := func() int {
		v.Size += 8
		return v.Size - 8
	}
	v.Args = make([]load.Arg, len(t.Spec.Args))
	for i := range v.Args {
		a := &v.Args[i]
		*a = load.Arg{N: word(), Sum: -1, Min: -1, Max: -1, Hist: -1}
		for k := range t.Spec.Aggs {
			g := &t.Spec.Aggs[k]
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
				need(&a.Sum)
			}
			if kept.Min {
				need(&a.Min)
			}
			if kept.Max {
				need(&a.Max)
			}
			if kept.Sketch {
				a.Sketch, v.Sketch = true, true
			}
			if kept.Counters == nil {
				continue
			}
			if a.Hist >= 0 {
				refuse("two histograms of one argument")
			}
			a.Agg, a.Hist, a.Buckets = k, v.Size, kept.Counters(g)
			if a.Buckets < 2 || a.Buckets > 2048 {
				refuse("a histogram of %d counters", a.Buckets)
			}
			v.Size += 8 * a.Buckets
		}
	}
	if v.Sketch {
		v.Self = word()
	}
	if v.Size > 30<<10 {
		refuse("rows of %d bytes", v.Size)
	}
	v.Dense = len(t.Cols) == 1 && !t.Cols[0].Text && !t.Cols[0].Stack && v.Size <= denseSize
}

// columnsOf settles the layout of a key from all that feeds its table or fold.
func columnsOf(feeds []keyed) (cols []load.Column, size int) {
	for i := range feeds[0].keys {
		col := load.Column{Off: size}
		for k, f := range feeds {
			n := f.keys[i]
			switch now, _ := n.(*expr.Field); {
			case now != nil && hook.IsTime(now):
				refuse("key %s is the time: each event would have a row of its own", n)
			case hook.IsStack(n):
				col.Stack, col.Size = true, load.StackKey
				stackOf(f.source.Event, n)
				f.source.stacked = true
			case n.Type().Kind == expr.Str:
				col.Text, col.Size = true, max(col.Size, f.env.room(n))
			case n.Type().Numeric():
				col.Size = 8
			default:
				refuse("key %s is a %s", n, n.Type())
			}
			if k > 0 && (col.Text != (n.Type().Kind == expr.Str) || col.Stack != hook.IsStack(n)) {
				refuse("key %s has two kinds", n)
			}
		}
		size += col.Size
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
