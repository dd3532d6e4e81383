package view

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file prepares rows that are shown one by one, when they come. The methods of
// tables say how they look; but nobody knows the rows behind, so that columns are as
// wide as the script says, and the texts of cells are made when a row is shown.

// Rows are the rows of a log. They serve one run.
type Rows struct {
	result.Rows
	// Err is the first error of a script's function that makes the text of a cell.
	Err error

	keep  []int // the columns that are shown, by their places in a row
	cells []event.Value
}

// Rows prepares rows with these columns. shows are how people read the cells, by column;
// nil shows the value.
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
		c.Width = max(c.Width, len(c.Title())) // the header has nothing but its own width to go by
		r.Columns = append(r.Columns, c)
	}
	r.Layout = v.Layout
	return r, nil
}

// OneByOne reports that the view does nothing for which all rows must be known.
func (v *View) OneByOne() bool {
	return len(v.Steps) == 0 && v.Row == nil && v.Pack == nil && v.Whole == nil && v.OnlyIf == "" &&
		!v.Live && v.Layout.Pivot == nil && v.File == "" && v.Title == ""
}

// text calls a script's function for a cell. An error shows the value as it is, and ends
// the run.
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

// Cells are the cells of a row that are shown, valid until the next call.
func (r *Rows) Cells(row []event.Value) []event.Value {
	r.cells = r.cells[:0]
	for _, i := range r.keep {
		r.cells = append(r.cells, row[i])
	}
	return r.cells
}
