package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// A View is how a table is shown: .sort, .top, .unit, .title, .with_ and
// .format. Steps run in order on each finished table.
type View struct {
	Title string
	Steps []Step
	ColumnViews
	Layout result.Layout
	// Row replaces the columns in text output by a line of the script's own.
	Row LinesFunc
	// Pack makes the text of all rows for a terminal; nil if there is none.
	Pack PackFunc
	// Whole keeps slots of time whole; nil if there are none.
	Whole *Whole
	// OnlyIf names a column; a table in which it is zero everywhere is not
	// shown.
	OnlyIf string
	// Live shows each interval in the place of the one before, where results go
	// to a terminal.
	Live bool
	// File takes the table in place of the output; "" is the output.
	File string
}

// ColumnViews say how columns are shown, by their names.
type ColumnViews struct {
	Units  map[string]unit.Unit // "" for all
	Texts  map[string]CellFunc
	Widths map[string]Width
	Hidden map[string]bool
	Raw    map[string]bool // those that show numbers, not names; "" for all
	Last   string          // the one that comes last
}

// A Step changes a finished table: sort, top, with.
type Step struct {
	Sort    string // column
	Reverse bool
	Top     int    // rows to keep, if > 0
	Totals  string // the first column of a row of sums
	With    string // column to add
	Fn      RowFunc
	Share   string // in place of Fn: the column of whose sum the new one is a share
	Unit    unit.Unit
}

// Width is how a column looks in text output; zero members leave it as it is.
// Shape makes the text of a cell, which JSON and CSV do not have.
type Width struct {
	Min         int
	Left, Right bool
	Prec        *int // decimals
	Sep         string
	ShareOf     string // the column that this one is a part of
	Alarm       bool   // red when it is not zero
	Clock       result.Clock
	Title       string // above the column
	Shape       CellFunc
}

// CellFunc shows a cell: the script's function of one value.
type CellFunc func(v event.Value) (string, error)

// LinesFunc makes a line of each row.
type LinesFunc func(names []string, rows [][]event.Value) ([]string, error)

// PackFunc makes a text of all rows.
type PackFunc func(names []string, rows [][]event.Value) (string, error)

// RowFunc computes from a row, given by column names: a new cell, a line.
type RowFunc func(names []string, row []event.Value) (event.Value, error)

// Whole says that a key column is the number of a slot of time: multiples of the
// period, in ns of the events' clock.
type Whole struct {
	Column string
	Period int64
}
