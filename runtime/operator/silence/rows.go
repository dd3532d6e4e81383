package silence

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// Columns returns the columns of Rows; key is the first of them.
func Columns(key result.Column) []result.Column {
	return []result.Column{
		key,
		{Name: "since", Width: 15},
		{Name: "silent", Unit: unit.US, Prec: result.UnitPrec, Width: 14},
		{Name: "ended", Left: true, Width: 5},
	}
}

// Rows is Take as the rows of a table.
func (f *Finder) Rows(until, end event.Time) (rows [][]event.Value) {
	for _, s := range f.Take(until, end) {
		ended := "yes"
		if !s.Over {
			ended = "no"
		}
		rows = append(rows, []event.Value{
			s.Key, event.TimeOf(s.From), event.DurationOf(s.Length()), event.StrOf(ended),
		})
	}
	return rows
}
