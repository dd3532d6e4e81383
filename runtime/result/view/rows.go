package view

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file prepares logs whose rows are shown one by one. The same methods as for
// tables say how they look. But the later rows are not known, so columns have the
// widths of the script, and the texts of cells are made when a row is shown.

// Rows prepares the rows of a log in one run.
type Rows struct {
	result.Rows
	// Err is the first error of a script's function for the text of a cell.
	Err error

	keep  []int // the indexes of the columns that are shown
	cells []event.Value
}

// Rows prepares rows with these columns. shows return the texts of cells, by column; nil
// shows the value.
func (v *View) Rows(columns []result.Column, shows []Show) (*Rows, error) {
	r := &Rows{}
	t := &result.Table{Columns: slices.Clone(columns)}
	own := *v
	own.Texts, own.Last, own.Hidden = nil, "", nil
	own.Widths = make(map[string]Width, len(v.Widths))
	for name, w := range v.Widths {
		w.Shape = nil
		own.Widths[name] = w
	}
	if err := own.dress(t, nil); err != nil {
		return nil, err
	}
	shows = v.named(columns, shows)
	for i := range t.Columns {
		c := &t.Columns[i]
		if shape := v.Widths[c.Name].Shape; shape != nil {
			c.Text, c.Shape = r.text(shape), true
		}
		if text := v.Texts[c.Name]; text != nil {
			c.Text = r.text(text)
		}
		if i < len(shows) && shows[i] != nil && c.Text == nil {
			c.Names = shows[i]
		}
	}
	last := -1
	for i, c := range t.Columns {
		switch {
		case v.Hidden[c.Name]:
		case c.Name == v.Last:
			last = i
		default:
			r.keep = append(r.keep, i)
		}
	}
	if last >= 0 {
		r.keep = append(r.keep, last)
	}
	for _, i := range r.keep {
		c := t.Columns[i]
		c.Width = max(c.Width, len(c.Title())) // the header is shown before the first row
		r.Columns = append(r.Columns, c)
	}
	r.Layout = v.Layout
	return r, nil
}

// OneByOne reports whether the view has no steps that need all rows.
func (v *View) OneByOne() bool {
	return len(v.Steps) == 0 && v.Row == nil && v.Pack == nil && v.Whole == nil && v.OnlyIf == "" &&
		!v.Live && v.Layout.Pivot == nil && v.File == "" && v.Title == ""
}

// text returns a function that calls a script's function for a cell. After an error, the
// value is shown unchanged, and the run ends.
func (r *Rows) text(fn CellFunc) func(event.Value) string {
	return func(v event.Value) string {
		text, err := fn(v)
		if err != nil {
			if r.Err == nil {
				r.Err = err
			}
			return v.String()
		}
		return text
	}
}

// Cells returns the cells of a row that are shown, valid until the next call.
func (r *Rows) Cells(row []event.Value) []event.Value {
	r.cells = r.cells[:0]
	for _, i := range r.keep {
		r.cells = append(r.cells, row[i])
	}
	return r.cells
}
