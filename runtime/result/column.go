package result

import (
	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// ColumnKind tells the columns that identify a row from the columns that were measured for it.
type ColumnKind uint8

const (
	ValueColumn ColumnKind = iota
	KeyColumn
)

// A ColumnType says what a cell of a column is.
type ColumnType uint8

const (
	Plain         ColumnType = iota // the number, text, moment or list itself
	StackNumbers                    // the number of a stack of this run, which Text names
	Distributions                   // the index of one of Column.Distributions
)

// A Merging says how the cells of several rows, or of several intervals, become one.
type Merging uint8

const (
	NotMerged Merging = iota // nobody knows the whole from such parts: means, quantiles
	Added                    // counts and sums
	Least
	Greatest
)

// A Clock says how the moments of a column are shown in text.
type Clock uint8

const (
	Dates      Clock = iota // as --time says: by default the date and the time of day
	TimeOfDay               // the time of day to the second, where dates would be
	SinceStart              // seconds since the start of the run
)

// UnitPrec as Column.Prec means the decimals of the column's unit.
const UnitPrec = -1

// A Column describes one cell of each row: its name, and how text shows it.
// The cells themselves are in the unit's base, not in the unit.
type Column struct {
	Name string
	// Head stands above the cells in text in place of name and unit, such as
	// [CPU] for cpu; "" is name and unit.
	Head string
	Kind ColumnKind
	Type ColumnType
	// Distributions are the distributions that the cells stand for, if Type says so.
	Distributions []Distribution

	Unit unit.Unit // the zero Unit shows the number, or the duration, as it is
	Hex  bool      // numbers as 0x...
	Left bool      // aligned to the left
	// Width is the least number of terminal cells; text grows a column that
	// needs more.
	Width int
	// Prec is the number of decimals, UnitPrec for the unit's own. A plain
	// number without unit has decimals only if it is a fraction.
	Prec int
	// Sep stands between the column before and this one instead of a blank,
	// as " => " does between start and end. Only rows and the header show
	// it, the rule keeps the room.
	Sep string
	// Clock says how moments are shown.
	Clock Clock
	// Alarm shows cells that are not zero in red, where there is colour.
	Alarm bool
	// Merging tells counts and sums, which grow, from what stands for one interval.
	Merging Merging
	Wording
	Relation
}

// Relation says that a column tells about the cells of another one.
type Relation struct {
	// ShareOf names the column of which this one is a part: 2 of 97 is shown
	// as "2 (  2%)".
	ShareOf string
	// Margin names the column whose cells are estimates: the true value is as far from them as
	// this one says, at most, in 95 of 100 cases. Nothing says that it is exact.
	Margin string
	// Sampled says that a row with true in this column has estimates of which no margin is known.
	Sampled bool
}

// Wording says how people see the cells of a column; the numbers stay in JSON.
type Wording struct {
	// Text overrides how people see a cell; the number stays in JSON beside
	// it. It may be nil.
	Text func(v event.Value) string
	// Names gives cells the name that people know their number by, as the kernel
	// prints it; ok is false for those without. The number stays in JSON beside
	// it. Text comes first, and either may be nil.
	Names func(v event.Value) (name string, ok bool)
	// Shape says that Text only arranges the number, as in [003]: it means
	// nothing to programs, so JSON and CSV have the number alone.
	Shape bool
}

// Title is the column's title in text: its name with its unit,
// "total(us)". Shares are of requests, as perf-prof says: "than(reqs)".
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
