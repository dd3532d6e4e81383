package mergeable

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/result"
)

// This file lists the numbers of merged results, so that they can be compared.

// cell is one number of a result, with its values on all machines.
type cell struct {
	result, row, column, unit string
	scale                     float64
	counts, zero              bool               // it counts events; it is 0 on machines that lack it
	sums                      bool               // it is a sum of a value of events
	events                    float64            // the number of events that a sum adds up
	values, of                map[string]float64 // by host: the number, and how many events it is from
}

// numbers yields the numbers of a table or a histogram. row is the packed key of the
// number's row.
func (m *mergedResult) numbers(yield func(like *cell, row []byte, v float64)) {
	if m.union == nil {
		return
	}
	var b []byte
	for row := range m.union.Parts {
		if row.Other {
			continue
		}
		b = b[:0]
		for _, v := range row.Key {
			b = key.AppendValue(b, v)
		}
		like := cell{result: m.Name, row: m.rowName(row.Key), scale: 1}
		if m.Kind == Histogram {
			m.distribution(like, row, b, yield)
			continue
		}
		for i, v := range m.union.Cells(row) {
			if !v.Numeric() {
				continue
			}
			c := &m.Form.Columns[m.Form.Keys+i]
			own := like
			own.column, own.unit = c.Name, c.Unit.Symbol
			if c.Unit.Scale > 0 {
				own.scale = c.Unit.Scale
			}
			op := m.Form.Aggs[i].Op
			own.counts = op == agg.Count
			own.sums = op == agg.Sum
			own.zero = own.counts || own.sums
			if own.sums {
				own.events = float64(row.Measures[m.Form.Aggs[i].Arg].N)
			}
			yield(&own, b, v.Float())
		}
	}
}

// distribution yields the numbers of a row of a histogram.
func (m *mergedResult) distribution(like cell, row *agg.Row, key []byte, yield func(*cell, []byte, float64)) {
	of := &row.Measures[0]
	count, mean := like, like
	count.column, count.counts, count.zero = "count", true, true
	yield(&count, key, float64(of.N))
	if of.N > 0 {
		mean.column = "mean"
		yield(&mean, key, of.Sum().Float()/float64(of.N))
	}
}

// rowName joins the keys of a row, by name if they have one.
func (m *mergedResult) rowName(key []event.Value) string {
	parts := make([]string, len(key))
	for i, v := range key {
		if parts[i] = m.names[i][v.String()]; parts[i] == "" {
			parts[i] = v.String()
		}
	}
	return strings.Join(parts, ", ")
}

// A Number is a number in a row. Adds is true for counts and sums.
type Number struct {
	Result, Row, Column string
	Unit                string // "ns"; "" for plain numbers
	Counts, Adds        bool
	Extreme             bool // it is a minimum or maximum
	Value               float64
}

// Numbers yields the numbers of all tables and histograms.
func (w *Window) Numbers(yield func(n *Number)) {
	for _, m := range w.results {
		m.numbers(func(like *cell, _ []byte, v float64) {
			n := Number{Result: like.result, Row: like.row, Column: like.column, Counts: like.counts,
				Adds: like.zero, Value: v}
			i := slices.IndexFunc(m.Form.Columns, func(c result.Column) bool { return c.Name == n.Column })
			if i >= 0 {
				n.Unit = m.Form.Columns[i].Unit.Base
				merging := m.Form.Columns[i].Merging
				n.Extreme = merging == result.Least || merging == result.Greatest
			}
			yield(&n)
		})
	}
}

// Stacks yields the merged stacks with the names of their results.
func (w *Window) Stacks(yield func(name string, s *result.Stacks)) {
	for _, m := range w.results {
		if m.stacks != nil {
			yield(m.Name, m.stacks)
		}
	}
}

// Loss returns the largest losses of any result. They are not added up, since
// results are mostly from the same events.
func (w *Window) Loss() (loss event.Loss) {
	for _, m := range w.results {
		loss = greater(loss, m.Loss)
	}
	return loss
}
