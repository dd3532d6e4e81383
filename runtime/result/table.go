package result

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// A Table is rows of cells, one cell for each column.
type Table struct {
	Meta
	Columns []Column
	Rows    [][]event.Value
	Layout  Layout
	// Omitted counts the rows that Top took away; renderers say so.
	Omitted int
	// Rest are the rows that Top took away, and those of a table that is not shown, if
	// Keep asks for them. They lack columns that were added later.
	Rest [][]event.Value
	// Total is the label of a row with sums over the others; "" if there is none.
	Total string
	// Other is the row of all keys that found no room in the table: the last one, whatever
	// rows are sorted by and how many are kept. Nil if there is none. View.Table moves it
	// to Rows.
	Other []event.Value
	// Spreads are the distributions that the quantiles of the table tell about, by the
	// same keys, if Keep asks for them.
	Spreads []*Table
}

// A Pivot names the column whose values are rows of a matrix, the column whose values are its
// columns, and the column of its cells.
type Pivot struct{ Rows, Columns, Value string }

// Layout is how text shows a table. The zero Layout is the usual form: date
// and title, header, rule, rows.
type Layout struct {
	NoDate   bool // no line with date and title
	NoHeader bool
	NoRule   bool // no dashes under the header
	Upper    bool // header in upper case
	// Grid is the form of SQL shells: the title on a line of its own, columns
	// apart by |, a rule with crosses, an empty line at the end. A question was
	// asked, so a table without rows is shown too.
	Grid bool
	// RowText replaces the columns: the row's line, or lines; "" is none.
	// Header and rule are then left out. Only text output asks for it.
	RowText func(row []event.Value) string
	// HeaderText is the header line of a table with RowText.
	HeaderText string
	// Pivot has people see a matrix; nil shows the rows.
	Pivot *Pivot
	// Packed is the whole table in few lines, which takes the place of header
	// and rows on a terminal that is wide enough for it; "" is none.
	Packed string
}

// Names lists the column names.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// Index finds a column by name, or by name with unit as the header shows it.
func (t *Table) Index(name string) (int, error) {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i, nil
		}
	}
	for i := range t.Columns {
		if t.Columns[i].Title() == name {
			return i, nil
		}
	}
	names := t.Names()
	e := &diag.Error{Op: "column", Subject: name, Class: diag.Run,
		Cause: errors.New("no such column" + diag.DidYouMean(name, names))}
	if len(names) == 0 {
		return -1, e.WithHint("add columns to table %s first", t.Label())
	}
	return -1, e.WithHint("use one of: %s", strings.Join(names, ", "))
}

// Sort orders the rows by a column. Equal rows keep their order, so sorting
// by the least important column first sorts by several. Empty cells come last
// either way.
func (t *Table) Sort(column string, reverse bool) error {
	i, err := t.Index(column)
	if err != nil {
		return err
	}
	slices.SortStableFunc(t.Rows, func(a, b []event.Value) int {
		return compare(cell(a, i), cell(b, i), reverse)
	})
	return nil
}

// cell is a row's cell, nothing where the row is short.
func cell(row []event.Value, i int) event.Value {
	if i >= len(row) {
		return event.Value{}
	}
	return row[i]
}

func compare(a, b event.Value, reverse bool) int {
	switch {
	case a.Kind == event.None && b.Kind == event.None:
		return 0
	case a.Kind == event.None:
		return 1
	case b.Kind == event.None:
		return -1
	case reverse:
		return b.Compare(a)
	}
	return a.Compare(b)
}

// Top keeps the first n rows and counts the others in Omitted.
func (t *Table) Top(n int) {
	n = max(n, 0)
	if n >= len(t.Rows) {
		return
	}
	t.Omitted += len(t.Rows) - n
	if t.Keep {
		t.Rest = append(t.Rest, t.Rows[n:]...)
	} else {
		clear(t.Rows[n:])
	}
	t.Rows = t.Rows[:n:n]
}

// All returns the rows, with the rows that are not shown.
func (t *Table) All() iter.Seq[[]event.Value] {
	return func(yield func([]event.Value) bool) {
		for _, rows := range [][][]event.Value{t.Rows, t.Rest} {
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// WithUnit shows in u every column that is measured in u's base: asked for
// milliseconds, a table of latencies and byte counts changes the latencies.
// A table without such a column is an error.
func (t *Table) WithUnit(u unit.Unit) error {
	found := false
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Unit.Base != "" && c.Unit.Base == u.Base {
			c.Unit, found = u, true
		}
	}
	if !found {
		return diag.Errorf(diag.Run, "unit", u.Symbol, "no column of %s is measured in %s",
			t.Label(), u.Base).
			WithHint("leave the unit out, or choose one that fits a column")
	}
	return nil
}

// AppendColumn adds a column whose cells fn computes from the rows as they
// are. A second column of the same name is an error.
func (t *Table) AppendColumn(c Column, fn func(row []event.Value) (event.Value, error)) error {
	if slices.Contains(t.Names(), c.Name) {
		return diag.Errorf(diag.Run, "add column", c.Name, "the table already has it").
			WithHint("choose another name")
	}
	cells := make([]event.Value, len(t.Rows))
	for i, row := range t.Rows {
		v, err := fn(row)
		if err != nil {
			return err
		}
		cells[i] = v
	}
	for i, row := range t.Rows {
		// Rows may lie behind each other in one array: never append in place.
		t.Rows[i] = append(slices.Clip(row), cells[i])
	}
	if t.Other != nil {
		t.Other = append(slices.Clip(t.Other), event.Value{}) // fn knows what it does with keys
	}
	t.Columns = append(slices.Clip(t.Columns), c)
	return nil
}
