package result

import (
	"cmp"

	"ppscript/runtime/event"
)

// A Line is an event of a log, to be written. Like the event, it is a view.
type Line struct {
	Event  *event.Event
	Marker byte   // 'G' for an event received from elsewhere; 0 for a local one
	Prefix string // replaces the date in text; "" shows the date
	Result string // the name of the log in the script; "" means "log"
	// Block is further lines of text for the event, such as its registers. JSON
	// has them as a field.
	Block []byte
	// Stacks says that the log shows stacks. CallStack is the stack of this event.
	Stacks bool
	CallStack
	// More are further stacks of a derived event that has several.
	More []NamedStack
	// Heading, if it is not empty, replaces the event's line after the date in
	// text. The lines of Parts follow below it, with their stacks in place of
	// the event's. JSON and CSV have the event's fields.
	Heading string
	// Text, if it is not empty, replaces the event's fields in text; if it has
	// several lines, the others follow below the event's line.
	Text  string
	Parts []Line
	// Rows, if it is not nil, makes text and CSV show the event as a row with the cells in
	// Cells. All lines of a log have the same Rows.
	Rows  *Rows
	Cells []event.Value
	// Layout, if it is not nil, says which fields the line has in text, as perf script prints them.
	// Chained says that the sample has a call stack of its own, which then stands below the line.
	Layout  *LineLayout
	Chained bool
}

// Rows describes the columns and the layout of a log that is shown as rows.
type Rows struct {
	Columns []Column
	Layout  Layout
}

// LogName returns the name of the line's log.
func (l *Line) LogName() string { return cmp.Or(l.Result, "log") }

// A NamedStack is a stack in a field of an event.
type NamedStack struct {
	Name string
	CallStack
}
