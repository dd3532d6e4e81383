package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/key"
)

// Rows returns the groups in the order in which they first appeared: the key
// columns, then the aggregates. Aggregates of nothing are empty cells, except
// counts and sums, which are 0. A Group without keys has one row, always.
func (g *Group) Rows() [][]event.Value {
	width := len(g.spec.Keys) + len(g.spec.Aggs)
	n := len(g.rows)
	if len(g.spec.Keys) == 0 {
		n = 1
	}
	cells := make([]event.Value, n*width)
	rows := make([][]event.Value, n)
	for r := range rows {
		rows[r] = cells[r*width : r*width : (r+1)*width]
	}
	g.keys(rows)
	for r := range rows {
		for i := range g.spec.Aggs {
			rows[r] = append(rows[r], g.cell(r, i))
		}
	}
	return rows
}

// keys appends the key columns to rows.
func (g *Group) keys(rows [][]event.Value) {
	switch {
	case g.ints != nil:
		p := g.spec.Keys[0].Any()
		g.ints.Each(func(k int64, r int32) {
			rows[r] = append(rows[r], key.ValueOf(p, k))
		})
	case g.texts != nil:
		g.texts.Each(func(k []byte, r int32) {
			for _, f := range g.spec.Keys {
				var v event.Value
				v, k = key.Take(k, f.Any())
				rows[r] = append(rows[r], v)
			}
		})
	}
}

func (g *Group) cell(r, i int) event.Value {
	a := &g.spec.Aggs[i]
	var m Measure
	if r < len(g.rows) {
		m = g.measures[r*len(g.spec.Args)+a.Arg]
	}
	switch {
	case a.Op.Cell != nil:
		return a.Op.Cell(a, &m)
	case m.N == 0:
		return event.Value{}
	}
	return g.state(int32(r), i).Cell()
}

// Loss returns the losses of the result.
func (g *Group) Loss() event.Loss {
	return event.Loss{Errors: g.errs.N, Evicted: g.work.evicted}
}

// Errors returns the failed evaluations.
func (g *Group) Errors() *flow.Errors { return &g.errs }

// Len is the number of rows.
func (g *Group) Len() int { return len(g.rows) }

// Reset starts a new interval: no rows, no losses. Memory that was of use is
// kept.
func (g *Group) Reset() {
	if g.ints != nil {
		g.ints.Reset()
	}
	if g.texts != nil {
		g.texts.Reset()
	}
	for _, state := range g.states {
		state.Reset()
	}
	clear(g.states[len(g.states):cap(g.states)])
	g.rows, g.measures, g.states = g.rows[:0], g.measures[:0], g.states[:0]
	g.errs.N, g.events = 0, 0 // the first error stays, to be told at the end
	g.work.evicted = 0
}
