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

// A Table has rows of cells, one cell for each column.
type Table struct {
	Meta
	Columns []Column
	Rows    [][]event.Value
	Layout  Layout
	// Omitted counts the rows that Top removed; renderers show the number.
	Omitted int
	// Rest has the rows that Top removed, and all rows of a table that is not shown,
	// if Keep asks for them. They lack columns that were added later.
	Rest [][]event.Value
	// Total is the label of the last row if that has the sums of the others; ""
	// if there is none.
	Total string
	// Other is the common row of all keys beyond the bound on keys; nil if there is none.
	// It is not sorted or counted with the others: View.Table moves it to the end of Rows.
	Other []event.Value
	// Spreads has the distributions that the quantiles of the table were computed
	// from, by the same keys, if Keep asks for them.
	Spreads []*Table
}

// A Pivot names the columns that are shown as a matrix: Rows has the titles of the matrix's
// rows, Columns the titles of its columns, Value its cells.
type Pivot struct{ Rows, Columns, Value string }

// Layout says how text output shows a table. The zero Layout is the usual form:
// date and title, header, rule, rows.
type Layout struct {
	NoDate   bool // without the line with date and title
	NoHeader bool
	NoRule   bool // without dashes under the header
	Upper    bool // header in upper case
	// Grid selects the form of SQL shells: the title on a line of its own,
	// columns separated by |, a rule with crosses, an empty line at the end. As
	// the answer to a query, a table without rows is shown too.
	Grid bool
	// RowText, if it is not nil, returns the line or lines that text output
	// shows for a row instead of the columns; "" shows none. Header and rule
	// are then left out.
	RowText func(row []event.Value) string
	// HeaderText is the header line of a table with RowText; "" is none.
	HeaderText string
	// Pivot shows the table as a matrix; nil shows the rows.
	Pivot *Pivot
	// Packed is a compact text of the whole table. It replaces header and rows
	// on a terminal that is wide enough; "" is none.
	Packed string
}

// Names returns the column names.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// Index finds a column by name, or by its title in the header, which includes
// the unit.
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

// cell returns cell i of a row, or an empty cell if the row is shorter.
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

// All yields the rows, including Rest.
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

// WithUnit sets the unit of every column whose unit has the same base as u:
// milliseconds change the latencies of a table, but not its byte counts. A
// table without such a column is an error.
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

// AppendColumn adds a column whose cells fn computes from the rows. A second
// column of the same name is an error.
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
		// Rows may be adjacent slices of one array: never append in place.
		t.Rows[i] = append(slices.Clip(row), cells[i])
	}
	if t.Other != nil {
		t.Other = append(slices.Clip(t.Other), event.Value{}) // fn is only made for rows with keys
	}
	t.Columns = append(slices.Clip(t.Columns), c)
	return nil
}
