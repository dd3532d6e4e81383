package render

import (
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file writes the cost of observing, and how many events were left out for
// a budget, for people.

// appendSampled appends "sampled: 1.56% of the events, in 2.1% of the time; ...". some says that
// the result has rows.
func appendSampled(dst []byte, c *result.Cost, some bool) []byte {
	dst = appendLeftOut(dst, c)
	switch {
	case c.Time == 0:
		return dst
	case !some:
		return append(dst, ": nothing was counted; the number of other events is not known"...)
	}
	return append(dst, ": counts and sums are estimates, within ± in 95 of 100 cases; "+
		"other numbers are of the sample"...)
}

// Remarks returns a text about the events that are missing in a result, or were left out for a
// budget; "" if there are none. It is for files in the formats of other tools, which have no
// margins of error.
func Remarks(m *result.Meta) string {
	var dst []byte
	if !m.Loss.Zero() {
		dst = appendLoss(dst, &m.Loss)
	}
	if m.Cost.Sampled() {
		if len(dst) > 0 {
			dst = append(dst, "; "...)
		}
		if dst = appendLeftOut(dst, m.Cost); m.Cost.Time > 0 {
			dst = append(dst, ": numbers are estimates"...)
		}
	}
	return string(dst)
}

// appendLeftOut appends the shares of the events and of the time that were
// observed, and the budget.
func appendLeftOut(dst []byte, c *result.Cost) []byte {
	if c.Time == 0 {
		dst = append(dst, "not observed: events were off, for a budget of "...)
		dst = append(appendCPUShare(dst, c.Budget), " of the CPUs (cost "...)
		dst = appendCPUShare(dst, c.Own+c.Traced)
		return append(dst, "): how many there were is not known"...)
	}
	dst = append(dst, "sampled: "...)
	what := " of the events"
	if c.ByKey {
		what = " of the keys, with all of their events"
	}
	if c.Events < 1 {
		dst = append(appendCPUShare(dst, c.Events), what...)
	}
	if c.Time < 1 {
		if c.Events < 1 {
			dst = append(dst, ", "...)
		}
		dst = append(appendCPUShare(append(dst, "in "...), c.Time), " of the time"...)
	}
	dst = append(appendCPUShare(append(dst, ", for a budget of "...), c.Budget), " of the CPUs (cost "...)
	return append(appendCPUShare(dst, c.Own+c.Traced), ')')
}

// appendCost appends "cost: 1.2% of the CPUs: 0.4% for ppscript, 0.8% for the observed threads".
func appendCost(dst []byte, c *result.Cost) []byte {
	dst = append(dst, "cost: "...)
	if c.Traced == result.NotMeasured {
		return append(appendCPUShare(dst, c.Own), " of the CPUs for ppscript; the cost for the observed "+
			"threads is measured only if kernel programs count the events"...)
	}
	dst = append(appendCPUShare(dst, c.Own+c.Traced), " of the CPUs: "...)
	dst = append(appendCPUShare(dst, c.Own), " for ppscript, "...)
	return append(appendCPUShare(dst, c.Traced), " for the observed threads"...)
}

func appendCPUShare(dst []byte, share float64) []byte {
	return append(strconv.AppendFloat(dst, 100*share, 'g', 3, 64), '%')
}

// withoutEmptyMargins removes columns of margins that have no values, since all
// numbers are exact.
func withoutEmptyMargins(t *result.Table) *result.Table {
	empty := func(i int) bool {
		c := &t.Columns[i]
		return (c.Margin != "" || c.Sampled) && !slices.ContainsFunc(t.Rows, func(row []event.Value) bool {
			return cellOf(row, i).Kind != event.None
		})
	}
	var keep []int
	for i := range t.Columns {
		if !empty(i) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(t.Columns) {
		return t
	}
	own := *t
	own.Columns, own.Rows = nil, make([][]event.Value, len(t.Rows))
	for _, i := range keep {
		own.Columns = append(own.Columns, t.Columns[i])
		for r, row := range t.Rows {
			own.Rows[r] = append(own.Rows[r], cellOf(row, i))
		}
	}
	return &own
}
