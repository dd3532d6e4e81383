package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// A View says how a table is shown: .sort, .top, .unit, .title, .with_ and
// .format. Steps run in order on each finished table.
type View struct {
	Title string
	Steps []Step
	ColumnViews
	Layout result.Layout
	// Row makes a line for each row, which text output shows instead of the
	// columns; nil shows the columns.
	Row LinesFunc
	// Pack makes one compact text of all rows for a terminal; nil if there is
	// none.
	Pack PackFunc
	// Whole says that a key is a slot of time, whose row is shown when the slot
	// is over; nil if there is none.
	Whole *Whole
	// OnlyIf names a column; a table is not shown if that column is zero in all
	// rows.
	OnlyIf string
	// Live shows each interval in place of the previous one, if the output is a
	// terminal.
	Live bool
	// File is the path of a file that the table is written to; "" is the usual
	// output.
	File string
}

// ColumnViews says how columns are shown, by their names.
type ColumnViews struct {
	Units  map[string]unit.Unit // "" means all columns
	Texts  map[string]CellFunc
	Widths map[string]Width
	Hidden map[string]bool
	Raw    map[string]bool // columns that show numbers, not names; "" means all
	Last   string          // the column that is moved to the end
}

// A Step is one change of a finished table: sort, top, totals or with. Only one
// of Sort, Top, Totals and With is set.
type Step struct {
	Sort    string // column to sort by
	Reverse bool
	Top     int    // rows to keep, if > 0
	Totals  string // label in the first column of a row of sums
	With    string // column to add
	Fn      RowFunc
	Share   string // in place of Fn: the new column is the share of this column's sum
	Unit    unit.Unit
}

// Width says how a column looks in text output; zero members change nothing.
// Shape makes the text of a cell, which JSON and CSV do not have.
type Width struct {
	Min         int
	Left, Right bool
	Prec        *int // decimals
	Sep         string
	ShareOf     string // the column that has the total for this one
	Alarm       bool   // cells that are not zero are red
	Clock       result.Clock
	Title       string // title above the column
	Shape       CellFunc
}

// CellFunc is a script's function that returns the text of a value.
type CellFunc func(v event.Value) (string, error)

// LinesFunc makes a line for each row.
type LinesFunc func(names []string, rows [][]event.Value) ([]string, error)

// PackFunc makes a text of all rows.
type PackFunc func(names []string, rows [][]event.Value) (string, error)

// RowFunc computes a new cell from a row, whose columns have these names.
type RowFunc func(names []string, row []event.Value) (event.Value, error)

// Whole names the key column that has the numbers of slots of time: the time of
// an event divided by Period, in ns of the events' clock.
type Whole struct {
	Column string
	Period int64
}
