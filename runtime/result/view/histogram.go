package view

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file makes the finished histogram of an interval: .sort, .text, .unit
// and .title apply to its keys, and the unit also to its bounds.

// Histogram makes a histogram of its rows. The last of columns is the column of its value, the
// others are the columns of its keys. shows return the texts of keys, by column; nil shows the
// value. other is the common row of all keys beyond the bound on keys, and becomes the last row;
// it has no buckets if there are no such keys.
func (v *View) Histogram(m result.Meta, rows []result.KeyDistribution, other result.KeyDistribution,
	columns []result.Column, shows []Show) (*result.Table, error) {
	m.Title = Title(v.Title, &m)
	at := len(columns) - 1
	keys, value := slices.Clone(columns[:at]), result.Column{Name: columns[at].Name, Unit: columns[at].Unit}
	for _, name := range []string{"", value.Name} {
		if u, ok := v.Units[name]; ok && u.Base == value.Unit.Base {
			value.Unit = u
		}
	}
	for i := range rows {
		exact(rows[i].Key, shows)
	}
	some := len(other.Buckets) > 0
	if some {
		rows = append(rows, other)
	}
	h := result.NewHistogram(m, keys, value, rows)
	var last [][]event.Value
	if some {
		last, h.Rows = h.Rows[len(h.Rows)-1:], h.Rows[:len(h.Rows)-1]
	}
	if err := v.ofKeys(h.Names()[:at]).dress(h, shows[:at]); err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(v.Steps) {
		if slices.Contains(h.Names()[:at], s.Sort) {
			if err := h.Sort(s.Sort, s.Reverse); err != nil {
				return nil, err
			}
		}
	}
	if n := v.TopN(); n > 0 {
		h.Top(n)
	}
	if some {
		sayOther(h.Columns[:at])
		h.Rows = append(h.Rows, last...)
	}
	return h, nil
}

// ofKeys returns the part of the view for columns of these names.
func (v *View) ofKeys(names []string) *View {
	own := &View{}
	if v.Raw[""] {
		setIn(&own.Raw, "", true)
	}
	for _, name := range names {
		if fn, ok := v.Texts[name]; ok {
			setIn(&own.Texts, name, fn)
		}
		if w, ok := v.Widths[name]; ok {
			setIn(&own.Widths, name, w)
		}
		if u, ok := v.Units[name]; ok {
			setIn(&own.Units, name, u)
		}
		if v.Raw[name] {
			setIn(&own.Raw, name, true)
		}
	}
	return own
}

func setIn[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}
