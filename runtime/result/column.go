package result

import (
	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// ColumnKind distinguishes the columns that identify a row (keys) from the columns that were
// measured for it (values).
type ColumnKind uint8

const (
	ValueColumn ColumnKind = iota
	KeyColumn
)

// A ColumnType says how the cells of a column are to be read.
type ColumnType uint8

const (
	Plain         ColumnType = iota // the number, text, moment or list itself
	StackNumbers                    // the number of a stack of this run; Text returns its functions
	Distributions                   // the index of one of Column.Distributions
)

// A Merging says how the cells of several rows, or of several intervals, are
// combined into one.
type Merging uint8

const (
	NotMerged Merging = iota // they cannot be combined: means, quantiles
	Added                    // counts and sums
	Least
	Greatest
)

// A Clock says how the points in time of a column are shown in text.
type Clock uint8

const (
	Dates      Clock = iota // in the form of option --time, by default the date and the time of day
	TimeOfDay               // the time of day to the second, if --time shows dates
	SinceStart              // seconds since the start of the run
)

// UnitPrec in Column.Prec means as many decimals as the column's unit has.
const UnitPrec = -1

// A Column describes one cell of each row: its name, and how text output shows
// it. The cells are in the base of the unit: ns if Unit is ms.
type Column struct {
	Name string
	// Head is the title above the cells in text, such as [CPU] for cpu; ""
	// shows name and unit.
	Head string
	Kind ColumnKind
	Type ColumnType
	// Distributions are the distributions whose indexes are in the cells, if Type is
	// Distributions.
	Distributions []Distribution

	Unit unit.Unit // the zero Unit shows the number or duration unconverted
	Hex  bool      // numbers as 0x...
	Left bool      // aligned to the left
	// Width is the minimum width in terminal cells; text output widens a column
	// that needs more.
	Width int
	// Prec is the number of decimals, or UnitPrec for the unit's number of
	// decimals. A number without unit has decimals only if it is a fraction.
	Prec int
	// Sep separates the previous column from this one in place of a blank, such
	// as " => " between start and end. Rows and the header show it; the rule
	// under the header has dashes or blanks there.
	Sep string
	// Clock says how points in time are shown.
	Clock Clock
	// Alarm shows cells that are not zero in red, if the output has colour.
	Alarm bool
	// Merging says how cells of several rows or intervals are combined.
	Merging Merging
	Wording
	Relation
}

// Relation describes a column whose cells qualify the cells of another column.
type Relation struct {
	// ShareOf names the column that has the total for this one: 2 of 97 is shown
	// as "2 (  2%)".
	ShareOf string
	// Margin names the column of estimates that this column has the margins of error for: in
	// 95 of 100 cases, the true value differs from the estimate by at most the margin. An
	// empty cell means that the estimate is exact, unless a Sampled column marks the row.
	Margin string
	// Sampled marks a column of booleans: true in a row means that the row has estimates whose
	// margin is unknown.
	Sampled bool
}

// Wording replaces the numbers of a column by texts for people; JSON also keeps
// the numbers.
type Wording struct {
	// Text returns the text that is shown in place of a cell; JSON has it
	// beside the number. It may be nil.
	Text func(v event.Value) string
	// Names returns the name of a cell's number as the kernel prints it, such as
	// TCP_SYN_SENT for 2; ok is false if the number has no name. JSON has the
	// name beside the number. Text has priority over Names; both may be nil.
	Names func(v event.Value) (name string, ok bool)
	// Shape says that Text only formats the number, such as [003]. Programs do
	// not need that, so JSON and CSV have only the number.
	Shape bool
}

// Title is the column's title in text: its name with its unit, "total(us)". A
// column with ShareOf has the unit "reqs", as in perf-prof: "than(reqs)".
func (c *Column) Title() string {
	switch {
	case c.Head != "":
		return c.Head
	case c.Unit.Symbol != "":
		return c.Name + "(" + c.Unit.Symbol + ")"
	case c.ShareOf != "":
		return c.Name + "(reqs)"
	}
	return c.Name
}
