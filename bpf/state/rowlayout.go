package state

import (
	"slices"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// This file settles where the rows of tables keep their values.

// slotSize bounds the value of a row that is kept in a slot, and also its key, in bytes
// each.
const slotSize = 192

// textSize bounds a text that a row keeps, in bytes.
const textSize = 64

// LayOutRow settles the layout of the rows of t. texts has the room for the texts of each argument;
// 0 for numbers. weighed says that events have weights, byKey that keys with all their events have
// weights.
func LayOutRow(t *load.Table, texts []int, weighed, byKey bool) {
	v := &t.Value
	v.Size, v.ByKey = 16, byKey
	word := func() int {
		v.Size += 8
		return v.Size - 8
	}
	v.Args = make([]load.Arg, len(t.Spec.Args))
	for i := range v.Args {
		a := &v.Args[i]
		*a = load.Arg{N: word(), Sum: -1, Min: -1, Max: -1, Hist: -1, Oldest: -1, Newest: -1,
			Greatest: -1, Least: -1,
			Room: max(8, texts[i]), Text: texts[i] > 0, Once: true}
		if a.Room > textSize {
			assembler.Refuse("a text of %d bytes in a row", a.Room)
		}
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
				assembler.Refuse("%s needs the events themselves", g.Op.Name)
			}
			if a.Text && !kept.Oldest && !kept.Newest && !kept.Greatest && !kept.Least {
				assembler.Refuse("an aggregate of texts")
			}
			a.Once = a.Once && kept.Oldest
			picked := func(at *int, wanted bool) {
				if wanted && *at < 0 {
					*at = word()
					v.Size += a.Room
				}
			}
			picked(&a.Oldest, kept.Oldest)
			picked(&a.Newest, kept.Newest)
			picked(&a.Greatest, kept.Greatest)
			picked(&a.Least, kept.Least)
			if kept.Sum && a.Sum < 0 {
				a.Sum = word()
				word() // the high word of the sum
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
				assembler.Refuse("two histograms of one argument")
			}
			a.Agg, a.Hist, a.Buckets = k, v.Size, kept.Counters(g)
			if a.Buckets < 2 || a.Buckets > 2048 {
				assembler.Refuse("a histogram of %d counters", a.Buckets)
			}
			v.Size += 8 * a.Buckets
		}
		a.Once = a.Once && a.Oldest >= 0
		a.Spread = -1
		switch {
		case byKey:
			a.Spread = v.Size
			v.Size += 8 * agg.Clusters
			if a.Sum >= 0 {
				v.Size += 8 * agg.Clusters
			}
		case weighed:
			if a.Spread = word(); a.Sum >= 0 {
				word()
				word()
			}
		}
	}
	if v.Sketch {
		v.Self = word()
	}
	if v.Size > 30<<10 {
		assembler.Refuse("rows of %d bytes", v.Size)
	}
	stack := slices.ContainsFunc(t.Cols, func(c load.Column) bool { return c.Stack })
	v.Slots = !stack && max(v.Size, t.KeyLen) <= slotSize
}
