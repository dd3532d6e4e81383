package render

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file shows a table as a matrix for people: a row for each value of one key, and a column for
// each value of another key. Programs get the unchanged table, whose columns are the same in all
// intervals.

// mostPivotColumns bounds the columns of a matrix.
const mostPivotColumns = 64

// pivoted returns the matrix of a table if its Layout has a Pivot, else the table
// itself.
func pivoted(t *result.Table) *result.Table {
	p := t.Layout.Pivot
	if p == nil {
		return t
	}
	at := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c result.Column) bool { return c.Name == name })
	}
	first, across, value := at(p.Rows), at(p.Columns), at(p.Value)
	if first < 0 || across < 0 || value < 0 { // a column is hidden
		return t
	}
	keys := []int{first}
	for i := range t.Columns {
		if t.Columns[i].Kind == result.KeyColumn && i != first && i != across {
			keys = append(keys, i)
		}
	}
	own := *t
	own.Columns, own.Rows = nil, nil
	for _, i := range keys {
		own.Columns = append(own.Columns, t.Columns[i])
	}
	own.Columns[0].Head = own.Columns[0].Title() + ` \ ` + t.Columns[across].Title() + ": " +
		t.Columns[value].Title()
	columns, rows, left := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, row := range t.Rows {
		name := cellOf(row, across).String()
		column, known := columns[name]
		if !known {
			if len(columns) == mostPivotColumns {
				left[name] = true
				continue
			}
			c := t.Columns[value]
			c.Name = CellText(&t.Columns[across], cellOf(row, across))
			c.Head = c.Name
			column = len(own.Columns)
			columns[name] = column
			own.Columns = append(own.Columns, c)
		}
		var key strings.Builder
		for _, i := range keys {
			fmt.Fprintf(&key, "%q ", cellOf(row, i).String())
		}
		r, known := rows[key.String()]
		// A hidden key may distinguish two rows with the same visible keys.
		if known && cellOf(own.Rows[r], column).Kind != event.None {
			known = false
		}
		if !known {
			r = len(own.Rows)
			rows[key.String()] = r
			var cells []event.Value
			for _, i := range keys {
				cells = append(cells, cellOf(row, i))
			}
			own.Rows = append(own.Rows, cells)
		}
		for len(own.Rows[r]) <= column {
			own.Rows[r] = append(own.Rows[r], event.Value{})
		}
		own.Rows[r][column] = cellOf(row, value)
	}
	if n := len(left); n > 0 {
		own.Title = strings.TrimSpace(fmt.Sprintf("%s (%d more columns)", own.Title, n))
	}
	return &own
}
