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

// This file shows cells as people read them.

// A Show tells how people read a value, as Field.Shown does.
type Show func(v event.Value) (text string, ok bool)

// Tuple shows the members of a composite key, each in its way.
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

// Agreed shows what all agree about.
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

// textBy is a value as show, which may be nil, or else its kind shows it.
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

// Cell shows the cells of an aggregator whose argument's values show shows.
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

// members shows a list by its members.
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

// NameCells gives columns the names of their cells, but for those that a script
// shows in its own way.
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

// named leaves out what the view shows as numbers.
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
