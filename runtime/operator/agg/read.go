package agg

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// Rows returns the groups in the order in which they first appeared: the key
// columns, then the aggregates. Without values a cell is empty, but counts and
// sums are 0. A Group without keys always has one row.
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

// OtherKey is shown as the key of the row for events whose keys found no room.
const OtherKey = "__other__"

// namedOther is shown for a real key that has the text of OtherKey.
const namedOther = `\x5f_other__`

// Named returns the text to show for the name of a key, a thread or a function, so that it
// is not mistaken for OtherKey.
func Named(text string) string {
	if text == OtherKey {
		return namedOther
	}
	return text
}

// Other is the row of the events whose keys found no room, with OtherKey for each key; nil
// if all found room. Sums over all rows including this one are sums over all events.
func (g *Group) Other() []event.Value {
	if g.rest == nil || len(g.rest.rows) == 0 {
		return nil
	}
	return append(g.otherKeys(), g.rest.Rows()[0]...)
}

// otherKeys is OtherKey for each key.
func (g *Group) otherKeys() []event.Value {
	return slices.Repeat([]event.Value{event.StrOf(OtherKey)}, len(g.spec.Keys))
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
	l := event.Loss{Errors: g.errs.N, Evicted: g.work.evicted}
	if g.rest != nil { // failed arguments, and values beyond a bound
		l.Add(g.rest.Loss())
	}
	return l
}

// Errors returns the failed evaluations.
func (g *Group) Errors() *flow.Errors { return &g.errs }

// Len is the number of rows.
func (g *Group) Len() int { return len(g.rows) }

// Reset starts a new interval: no rows, no losses. Memory that was in use is
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
	g.doubts.reset()
	g.marks = g.marks[:0]
	g.errs.N, g.events = 0, 0 // the first error stays, to be told at the end
	g.work.evicted = 0
	if g.rest != nil {
		g.rest.Reset()
	}
}
