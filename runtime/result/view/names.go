package view

import (
	"iter"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file makes the texts of cells from the functions that name values.

// A Show returns the text that people see instead of a value, like Field.Shown;
// ok is false if the value has none.
type Show func(v event.Value) (text string, ok bool)

// Tuple shows the members of a composite key, each with its own Show.
func Tuple(each []Show) Show {
	return func(v event.Value) (string, bool) {
		list := v.List()
		if len(list) != len(each) {
			return "", false
		}
		texts := make([]string, len(list))
		for i, m := range list {
			texts[i] = textBy(each[i], m)
		}
		return "(" + strings.Join(texts, ", ") + ")", true
	}
}

// Agreed returns a text only if all functions return the same one.
func Agreed(all []Show) Show {
	return func(v event.Value) (string, bool) {
		text, ok := all[0](v)
		for _, show := range all[1:] {
			if again, too := show(v); !too || again != text {
				return "", false
			}
		}
		return text, ok
	}
}

// textBy returns the text of show, which may be nil, or else the usual text of
// the value.
func textBy(show Show, v event.Value) string {
	if show != nil {
		if text, ok := show(v); ok {
			return text
		}
	}
	if v.Kind == event.DurationValue {
		return unit.Duration(v.Int())
	}
	return v.String()
}

// Cell returns a Show for the cells of an aggregator; show returns the texts of
// the values of its argument.
func Cell(op *agg.Op, show Show) Show {
	switch {
	case show == nil || !op.Column.Values:
		return nil
	case op == agg.Top: // a list of values with their counts
		return members(func(m event.Value) (string, bool) {
			pair := m.List()
			if len(pair) != 2 {
				return "", false
			}
			return "(" + textBy(show, pair[0]) + ", " + pair[1].String() + ")", true
		})
	case op == agg.List:
		return members(show)
	}
	return show
}

// members shows each member of a list with show.
func members(show Show) Show {
	return func(v event.Value) (string, bool) {
		if v.Kind != event.ListValue {
			return "", false
		}
		texts := make([]string, len(v.List()))
		for i, m := range v.List() {
			texts[i] = textBy(show, m)
		}
		return "(" + strings.Join(texts, ", ") + ")", true
	}
}

// NameCells sets the Names of columns from shows, except for columns with a
// Text of the script.
func NameCells(columns []result.Column, shows []Show, rows iter.Seq[[]event.Value]) {
	for i, show := range shows {
		if show == nil || columns[i].Text != nil {
			continue
		}
		texts := map[string]string{}
		for row := range rows {
			if i < len(row) {
				if text, ok := show(row[i]); ok {
					texts[row[i].String()] = text
				}
			}
		}
		if len(texts) > 0 {
			columns[i].Names = func(v event.Value) (string, bool) {
				text, ok := texts[v.String()]
				return text, ok
			}
		}
	}
}

// named removes the shows of columns that the view shows as numbers.
func (v *View) named(columns []result.Column, shows []Show) []Show {
	if len(v.Raw) == 0 {
		return shows
	}
	own := slices.Clone(shows)
	for i := range own {
		if v.Raw[""] || v.Raw[columns[i].Name] {
			own[i] = nil
		}
	}
	return own
}
