package result

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
)

// Clone copies a table so that it can be shown after its interval has ended.
func (t *Table) Clone() *Table {
	own := *t
	own.Columns = slices.Clone(t.Columns)
	for i := range own.Columns {
		c := &own.Columns[i]
		c.Distributions = slices.Clone(c.Distributions)
		for j := range c.Distributions {
			c.Distributions[j].Buckets = slices.Clone(c.Distributions[j].Buckets)
		}
	}
	own.Rows = make([][]event.Value, len(t.Rows))
	for i, row := range t.Rows {
		own.Rows[i] = CloneRow(row)
	}
	if text := t.Layout.RowText; text != nil {
		// RowText finds the line of a row by the address of its first cell.
		lines := make(map[*event.Value]string, len(t.Rows))
		for i, row := range t.Rows {
			if len(row) > 0 {
				lines[&own.Rows[i][0]] = text(row)
			}
		}
		own.Layout.RowText = func(row []event.Value) string { return lines[&row[0]] }
	}
	return &own
}

// CloneRow copies a row including its texts, which may be views.
func CloneRow(row []event.Value) []event.Value {
	out := slices.Clone(row)
	for i, v := range out {
		if v.Kind == event.StrValue {
			out[i] = event.StrOf(strings.Clone(v.String()))
		}
	}
	return out
}
