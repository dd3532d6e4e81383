package sql

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file makes rows of events.

// An EventTable is the rows of one kind of event.
type EventTable struct {
	Table
	Schema *event.Schema
	// Rows takes the rows; Plain, if it is set, takes them once more, with
	// all columns.
	Rows, Plain *Rows
	// Count, First and Last are of the rows since the last Reset; Total is
	// of all.
	Count, Total uint64
	First, Last  event.Time
	readers      []reader
}

// A reader gets a cell out of an event: from a field, or by a program.
type reader struct {
	field *event.Field
	prog  *expr.Program
}

// Filled lists the columns that the query reads.
func (t *EventTable) Filled() string {
	var names []string
	for i := range t.Columns {
		if !t.Columns[i].Unused {
			names = append(names, t.Columns[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// Reset begins an interval.
func (t *EventTable) Reset() { t.Count, t.First, t.Last = 0, 0, 0 }

// Field is the field that the cells of a column are read from; nil if a program
// computes them.
func (t *EventTable) Field(column int) *event.Field { return t.readers[column].field }

// Program is the program that computes the cells of a column; nil if a field
// has them.
func (t *EventTable) Program(column int) *expr.Program { return t.readers[column].prog }

// Fill adds the columns of a table whose event is settled. Columns that are not fields of
// the record have names with an underscore in front, as in perf-prof. Sampled says that
// the event has no record of its own. vars are the values that the script computes for it.
func (t *EventTable) Fill(sampled bool, vars map[string]expr.Node, leaveOut ...string) {
	members := []string{"_pid", "_tid", "_time", "_cpu", "_period"}
	if sampled {
		members = append(members, "_ip", "_addr")
	}
	for _, name := range members {
		f, _ := t.Schema.Field(strings.TrimPrefix(name, "_"))
		if own, ok := t.Schema.Field(name); ok {
			f = own
		}
		t.AddMember(name, f)
	}
	if t.About.Stack {
		f, _ := t.Schema.Field(event.StackName)
		t.AddMember("_"+event.StackName, f)
	}
	for i := range t.Schema.Fields {
		f := &t.Schema.Fields[i]
		if f.Name != "common_type" {
			t.AddField(f)
			t.About.Fields++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !slices.Contains(leaveOut, name) {
			t.AddComputed(name, expr.Build(vars[name]))
		}
	}
}

// AddMember adds a column for a number of the event, under a name that may differ from
// the field's.
func (t *EventTable) AddMember(name string, f *event.Field) { t.add(name, Integer, reader{field: f}) }

// AddField adds the column of a field.
func (t *EventTable) AddField(f *event.Field) { t.add(f.Name, columnType(f), reader{field: f}) }

// AddComputed adds a column that a program computes.
func (t *EventTable) AddComputed(name string, p *expr.Program) {
	typ := map[expr.Kind]Type{expr.Str: Text, expr.Float: Real}[p.Type.Kind]
	t.add(name, typ, reader{prog: p})
}

// add adds a column. If the name is taken, regardless of case, a _ is appended.
func (t *EventTable) add(name string, typ Type, r reader) {
	for slices.ContainsFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) }) {
		name += "_"
	}
	t.Columns = append(t.Columns, Column{Name: name, Type: typ})
	t.readers = append(t.readers, r)
}

func columnType(f *event.Field) Type {
	switch f.Kind {
	case event.Int:
		return Integer
	case event.Str:
		return Text
	case event.Float:
		return Real
	}
	return Blob
}

// Condition is a term in C; "" if it may mean something else there: SQL has no
// numbers beyond 63 bits, and texts may hold what C escapes.
func (t *EventTable) Condition(x Term) string {
	for i := range t.Columns {
		f := t.readers[i].field
		if !strings.EqualFold(t.Columns[i].Name, x.Column) || f == nil || t.Columns[i].Name != f.Name {
			continue
		}
		switch c := t.Columns[i].Type; {
		case c == Integer && !x.IsText && (f.Signed || f.Size < 8):
			return f.Name + " " + x.Op + " " + strconv.FormatInt(x.Int, 10)
		case c == Text && x.IsText && x.Text != "" && strconv.Quote(x.Text) == `"`+x.Text+`"`:
			return f.Name + " " + x.Op + ` "` + x.Text + `"`
		}
		return ""
	}
	return ""
}

// Add makes the rows of an event.
func (t *EventTable) Add(e *event.Event, f *expr.Frame, errs *flow.Errors) {
	if t.Count == 0 {
		t.First = e.Time
	}
	t.First, t.Last = min(t.First, e.Time), max(t.Last, e.Time)
	t.Count++
	t.Total++
	f.Reset(e)
	t.row(f, errs, t.Rows, false)
	if t.Plain != nil {
		f.Reset(e)
		t.row(f, errs, t.Plain, true)
	}
}

func (t *EventTable) row(frame *expr.Frame, errs *flow.Errors, rows *Rows, all bool) {
	e := frame.Event
	for i := range t.readers {
		c := &t.Columns[i]
		if c.Unused && !all {
			continue
		}
		if p := t.readers[i].prog; p != nil {
			computed(p, frame, errs, rows)
			continue
		}
		f := t.readers[i].field
		switch c.Type {
		case Text:
			rows.Text(f.Text(e))
		case Blob:
			rows.Blob(f.Loc(e))
		case Real:
			if v := f.Value(e); v.Numeric() {
				rows.Real(v.Float())
			} else {
				rows.Null()
			}
		default:
			if n, ok := f.Int(e); ok {
				rows.Int(n)
			} else {
				rows.Null()
			}
		}
	}
	rows.End()
}

// computed adds the cell of a name that .let(...) gave. One that cannot be
// computed is NULL, and counted.
func computed(p *expr.Program, frame *expr.Frame, errs *flow.Errors, rows *Rows) {
	var v event.Value
	switch {
	case p.Int != nil:
		v = event.IntOf(p.Int(frame))
	default:
		v = p.Value(frame)
	}
	switch {
	case frame.Err != nil:
		errs.Note(frame)
		rows.Null()
	case v.Kind == event.FloatValue:
		rows.Real(v.Float())
	case v.Numeric():
		rows.Int(v.Int())
	case v.Kind == event.None:
		rows.Null()
	default:
		rows.Text([]byte(v.String()))
	}
}
