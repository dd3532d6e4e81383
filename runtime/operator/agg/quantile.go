package agg

import (
	"errors"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Quantile estimates the value that a share Agg.Q of the values does not
// exceed, by a Sketch.
var Quantile = &Op{
	Name:    "quantile",
	Summary: "Estimates a quantile of a number.",
	Result: "the value that a share q of the values does not exceed: exact up to 64 values, " +
		"within 0.8 % beyond",
	Cost:    "3 ns per event; up to 30 KB for each key",
	Numeric: true,
	moves:   rising,
	Param: &Param{
		Name: "q", Doc: "share between 0 and 1: 0.99 for p99", Required: true, Example: "0.99",
		Set: func(a *Agg, v float64) (string, error) {
			if !(v >= 0 && v <= 1) {
				return "write 0.99 for p99", errors.New("want a share between 0 and 1")
			}
			a.Q = v
			return "", nil
		},
	},
	Column: Column{Width: 12},
	New:    func(a *Agg, _ *Workspace) State { return &quantile{agg: a} },
	Kernel: &KernelState{Sum: true, Min: true, Max: true, Sketch: true},
}

type quantile struct {
	agg    *Agg
	sketch Sketch
	slot   *Sketch // the values of the current slot of time; nil without slots
}

func (q *quantile) Add(v event.Number) {
	if q.slot != nil {
		q.slot.Add(v)
		return
	}
	q.sketch.Add(v)
}

func (q *quantile) Cell() event.Value {
	q.settle()
	return q.agg.number(q.sketch.Quantile(q.agg.Q))
}

func (q *quantile) Reset() {
	q.sketch.Reset()
	q.slot = nil
}

func (q *quantile) Merge(o State) { q.sketch.Merge(&o.(*quantile).sketch) }

// Spread is the distribution of argument arg over all rows; false if no quantiles of it
// are computed. It moves exact values into buckets, so that cells must be made before.
func (g *Group) Spread(arg int) (rows []result.KeyDistribution, ok bool) {
	i := slices.IndexFunc(g.spec.Aggs, func(a Agg) bool { return a.Op == Quantile && a.Arg == arg })
	if i < 0 {
		return nil, false
	}
	keys := make([][]event.Value, len(g.rows))
	g.keys(keys)
	for r := range g.rows {
		m := &g.measures[r*len(g.spec.Args)+arg]
		if m.N > 0 {
			q := g.state(int32(r), i).(*quantile)
			q.settle()
			s := &q.sketch
			rows = append(rows, result.KeyDistribution{Key: keys[r],
				Distribution: result.Distribution{Buckets: q.agg.Linear.spread(s.Spread()),
					Sum: q.agg.sum(m).Float()}})
		}
	}
	if g.rest != nil {
		if rest, _ := g.rest.Spread(arg); len(rest) > 0 {
			rest[0].Key = g.otherKeys()
			rows = append(rows, rest[0])
		}
	}
	return rows, true
}

func (q *quantile) AddPartial(p *Partial, arg int) {
	m := &p.Measures[arg]
	if p.Values != nil {
		for _, v := range p.Values[arg] {
			for range v.N { // together at most ExactValues
				q.sketch.Add(v.Value)
			}
		}
	}
	q.sketch.addBuckets(m.Min(), m.Max(), p.Buckets[arg], false)
}
