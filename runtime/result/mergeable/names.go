package mergeable

import (
	"maps"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result/view"
)

// This file keeps keys apart that are one number with several meanings: a system call of another
// architecture, an address of another kernel. While rows are put together, a key that has a name is both, and
// so the order of machines is free. Keys are shown as numbers with names, as one machine does, where
// each number has one name, and as names where it has several. Values in the cells of aggregators, such as
// the least one, are told apart by nobody: they have their name where all machines call them the same.

// nameKeys are the keys of a row with their names.
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

// calls are what machines call the values in the cells of an aggregator, by value.
type calls map[string]*call

type call struct {
	value event.Value
	names []string // different ones
}

// mostNames is how many names of a value are told on: more than one is none.
const mostNames = 2

// call takes in what a machine calls values.
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

// called are the names that were taken in, as frames have them.
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

// showCells shows the cells of aggregators by their names, beside the keys.
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

// plain is a key without its name.
func (m *mergedResult) plain(k int, v event.Value) event.Value {
	if _, named := m.names[k][v.String()]; named {
		return v.List()[0]
	}
	return v
}

// plainKeys are the keys of a row without their names.
func (m *mergedResult) plainKeys(key []event.Value) []event.Value {
	own := slices.Clone(key)
	for k := range own {
		own[k] = m.plain(k, own[k])
	}
	return own
}

// showKeys makes the keys of rows, which are the caller's, those that are shown, and says how.
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
