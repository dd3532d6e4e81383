package mergeable

import (
	"maps"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result/view"
)

// This file handles keys whose numbers mean different things on different machines, such as system
// calls of another architecture or addresses of another kernel. While rows are merged, a key with a
// name is a list of number and name, so that the order of machines does not matter. If each number
// has one name, keys are shown as numbers with names, as on one machine; numbers with several names
// are shown as their names. Values in the cells of aggregators, such as a minimum, are merged by
// number; they have a name only if all machines use the same one.

// nameKeys returns the keys of a row, with lists of number and name for keys
// that have a name, and records the names.
func (m *mergedResult) nameKeys(key []event.Value, names []string) []event.Value {
	own := slices.Clone(key)
	for k, name := range names {
		if name == "" {
			continue
		}
		if m.names[k] == nil {
			m.names[k] = map[string]string{}
		}
		own[k] = event.ListOf(key[k], event.StrOf(name))
		m.names[k][own[k].String()] = name
	}
	return own
}

// calls are the names of the values in an aggregator's cells, by the text of the
// value.
type calls map[string]*call

type call struct {
	value event.Value
	names []string // different ones
}

// mostNames bounds the names that are kept for a value: two show already that
// machines disagree.
const mostNames = 2

// call records a machine's names of values.
func (m *mergedResult) call(list []KernelName) {
	for i := range list {
		c := &list[i]
		if m.calls[c.Agg] == nil {
			m.calls[c.Agg] = calls{}
		}
		all := m.calls[c.Agg]
		id := c.Value.String()
		if all[id] == nil {
			all[id] = &call{value: c.Value}
		}
		if of := all[id]; !slices.Contains(of.names, c.Name) && len(of.names) < mostNames {
			of.names = append(of.names, c.Name)
		}
	}
}

// called returns the recorded names in the form of frames.
func (m *mergedResult) called() (list []KernelName) {
	for i, all := range m.calls {
		for _, id := range slices.Sorted(maps.Keys(all)) {
			for _, name := range slices.Sorted(slices.Values(all[id].names)) {
				list = append(list, KernelName{i, all[id].value, name})
			}
		}
	}
	return list
}

// showCells sets the shows of aggregators' columns, which return the recorded
// names.
func (m *mergedResult) showCells(shows []view.Show) {
	for i, all := range m.calls {
		if len(all) == 0 {
			continue
		}
		shows[m.Form.Keys+i] = view.Cell(m.Form.Aggs[i].Op, func(v event.Value) (string, bool) {
			c := all[v.String()]
			if c == nil || len(c.names) != 1 {
				return "", false
			}
			return c.names[0], true
		})
	}
}

// plain returns a key without its name.
func (m *mergedResult) plain(k int, v event.Value) event.Value {
	if _, named := m.names[k][v.String()]; named {
		return v.List()[0]
	}
	return v
}

// plainKeys returns the keys of a row without their names.
func (m *mergedResult) plainKeys(key []event.Value) []event.Value {
	own := slices.Clone(key)
	for k := range own {
		own[k] = m.plain(k, own[k])
	}
	return own
}

// showKeys replaces the keys in rows, in place, by the values that are shown. It returns the
// names of numbers by column.
func (m *mergedResult) showKeys(rows [][]event.Value) []view.Show {
	shows := make([]view.Show, len(m.Form.Columns))
	m.showCells(shows)
	for k, all := range m.names {
		if len(all) == 0 {
			continue
		}
		names, several := map[string]string{}, map[string]bool{}
		for _, row := range rows {
			value, name := m.plain(k, row[k]).String(), all[row[k].String()]
			if before, there := names[value]; there && before != name {
				several[value] = true
			}
			names[value] = name
		}
		for _, row := range rows {
			name, named := all[row[k].String()]
			if row[k] = m.plain(k, row[k]); named && several[row[k].String()] {
				row[k] = event.StrOf(name)
			}
		}
		shows[k] = func(v event.Value) (string, bool) {
			text := v.String()
			name := names[text]
			return name, name != "" && !several[text]
		}
	}
	return shows
}
