package plan

import (
	"ppscript/runtime/agg"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/result"
	"ppscript/runtime/unit"
)

// A Report is what a run delivers: the end of a stream.
type Report interface {
	// Input is the stream that it reads.
	Input() Stream
}

// An AggCol is one aggregated column.
type AggCol struct {
	Name  string
	Agg   agg.Agg // its Arg and Kind are settled by Build
	Arg   *Fn     // nil for count
	Where *Fn
	Of    Stream // only events of this stream; nil is all
	Pos   string
}

// Histogram says that the group's only aggregator makes a histogram, which is
// no table.
func (g *Group) Histogram() bool { return len(g.Aggs) == 1 && g.Aggs[0].Agg.Op.Histogram() }

// Group aggregates by key into a table, or into a histogram if its only
// aggregator is one.
type Group struct {
	In   Stream
	By   []Var
	Aggs []AggCol
	// Limit bounds the rows; 0 is the default.
	Limit int
	// Tree shows the rows, which are by node, as a tree of calls.
	Tree bool
	View View
}

// Log shows every event as a line.
type Log struct {
	In    Stream
	Title string
	// Pairs shows both events of a pair; else the pair's own line.
	Pairs bool
	// Newest keeps the newest events in the rings, instead of losing them
	// when a ring is full, and shows them at the end.
	Newest bool
	// Fields, if any, are shown in place of the events' own fields.
	Fields []Var
	// Heading is what text shows in place of the fields, above the events
	// between which the event lies; nil shows the fields.
	Heading *Fn
	// Text is what text shows in place of the fields, its further lines below
	// the line of the event; nil shows the fields.
	Text *Fn
	// Result is an expression whose value is shown behind each line.
	Result *Fn
}

// Text is shown as it is: an answer that needs no events.
type Text struct{ Text string }

// Busy is work of ppscript's own that goes on as long as the run: something
// for a profiler to see.
type Busy struct {
	Work func(stop <-chan struct{})
}

// Heat writes the time and a number of every event to files that heat map
// tools read, one file for each kind of event or pair: PREFIX-EVENT.lat.
type Heat struct {
	In     Stream
	Value  Fn
	Prefix string
}

// Each calls a script function for every event, interpreted.
type Each struct {
	In Stream
	Fn Callable
	// Batch, if set, gets slices of events instead.
	Batch Batcher
}

// A Batcher is a function of the script of a list of events.
type Batcher interface {
	// Bind comes first: the events that can arrive.
	Bind(events []*expr.Scope)
	// CallBatch calls the function; the events die with the call.
	CallBatch(evs []*event.Event) error
}

// Input implements Report.
func (g *Group) Input() Stream { return g.In }
func (l *Log) Input() Stream   { return l.In }
func (e *Each) Input() Stream  { return e.In }
func (h *Heat) Input() Stream  { return h.In }
func (t *Text) Input() Stream  { return &Merge{} }
func (w *Busy) Input() Stream  { return &Merge{} }

// A View is how a table is shown: what .sort, .top, .unit, .title, .with_ and
// .format say. Steps run in order on each finished table.
type View struct {
	Title  string
	Steps  []Step
	Units  map[string]unit.Unit // by column; "" for all
	Texts  map[string]CellFunc
	Widths map[string]Width
	Hidden map[string]bool
	Layout result.Layout
	// Row replaces the columns in text output by a line of the script's own.
	Row LinesFunc
	// Pack makes the text of all rows for a terminal; nil if there is none.
	Pack PackFunc
	// OnlyIf names a column; a table in which it is zero everywhere is not
	// shown.
	OnlyIf string
	// Live shows each interval in the place of the one before, where results go
	// to a terminal.
	Live bool
	// File takes the table in place of the output; "" is the output.
	File string
	// Last is the column that comes last.
	Last string
}

// A Step changes a finished table: sort, top, with.
type Step struct {
	Sort    string // column
	Reverse bool
	Top     int    // rows to keep, if > 0
	Totals  string // what the first column of a row of sums says
	With    string // column to add
	Fn      RowFunc
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
