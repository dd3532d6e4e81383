package result

import (
	"cmp"

	"ppscript/runtime/event"
)

// A Line is an event to be written. It is a view like the event itself.
type Line struct {
	Event  *event.Event
	Marker byte   // 'G' for an event received from elsewhere; 0 for a local one
	Prefix string // stands in the place of the date, in text; "" for the date
	Result string // the name of the log in the script; "" is "log"
	// Block is lines of text that belong to the event: registers. JSON has
	// them as a field.
	Block []byte
	// Stacks says that events of this log have stacks. CallStack is the stack of the event.
	Stacks bool
	CallStack
	// More are the other stacks of an event that was made from several.
	More []NamedStack
	// Heading, if it is not empty, stands in text behind the date in place of
	// the event's line, and Parts are the events below it, with their stacks in
	// place of the event's own. JSON and CSV have the event's fields.
	Heading string
	// Text, if it is not empty, stands in text in place of the event's
	// fields; its further lines are below the line of the event.
	Text  string
	Parts []Line
	// Rows, if it is not nil, says that text and CSV show the event as a row of columns, whose
	// cells are Cells. All lines of a log have the same Rows.
	Rows  *Rows
	Cells []event.Value
	// Layout, if it is not nil, says which fields the line has in text, as perf script prints them.
	// Chained says that the sample has a call stack of its own, which then stands below the line.
	Layout  *LineLayout
	Chained bool
}

// Rows are what the rows of a log have in common, which come one by one.
type Rows struct {
	Columns []Column
	Layout  Layout
}

// LogName is the name of the log that the line is of.
func (l *Line) LogName() string { return cmp.Or(l.Result, "log") }

// A NamedStack is a stack in a field of an event.
type NamedStack struct {
	Name string
	CallStack
}
