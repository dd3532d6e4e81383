package view

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file makes the finished histogram of an interval: .sort, .text, .unit
// and .title apply to its keys, and the unit also to its bounds.

// Histogram makes a histogram of its rows. columns are those of its keys and then that
// of its value, shows how people read the keys; nil shows the value. other is the row of
// the keys that found no room; it comes last, and has no buckets if all found room.
func (v *View) Histogram(m result.Meta, rows []result.HistRow, other result.HistRow, columns []result.Column,
	shows []Show) (*result.Histogram, error) {
	m.Title = Title(v.Title, &m)
	keys, value := slices.Clone(columns[:len(columns)-1]), columns[len(columns)-1]
	h := &result.Histogram{Meta: m, Rows: rows, Value: value.Name, Unit: value.Unit}
	for _, name := range []string{"", value.Name} {
		if u, ok := v.Units[name]; ok && u.Base == value.Unit.Base {
			h.Unit = u
		}
	}
	shown := &result.Table{Columns: keys}
	for i := range h.Rows {
		shown.Rows = append(shown.Rows, h.Rows[i].Key)
	}
	if err := v.ofKeys(shown.Names()).dress(shown, shows[:len(keys)]); err != nil {
		return nil, err
	}
	h.Keys = shown.Columns
	v.sortHistograms(h)
	if n := v.TopN(); n > 0 {
		h.Top(n)
	}
	if len(other.Buckets) > 0 {
		sayOther(h.Keys)
		h.Rows = append(h.Rows, other)
	}
	return h, nil
}

// ofKeys is the part of the view about columns of these names.
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

// sortHistograms orders by keys; the most important sort comes first.
func (v *View) sortHistograms(h *result.Histogram) {
	for _, s := range slices.Backward(v.Steps) {
		at := slices.IndexFunc(h.Keys, func(c result.Column) bool { return c.Name == s.Sort })
		if s.Sort == "" || at < 0 {
			continue
		}
		slices.SortStableFunc(h.Rows, func(a, b result.HistRow) int {
			if s.Reverse {
				a, b = b, a
			}
			return keyAt(a, at).Compare(keyAt(b, at))
		})
	}
}

func keyAt(r result.HistRow, i int) event.Value {
	if i >= len(r.Key) {
		return event.Value{}
	}
	return r.Key[i]
}
