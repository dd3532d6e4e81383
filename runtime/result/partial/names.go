package partial

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result/view"
)

// This file keeps keys apart that are one number with several meanings: a system call of another
// architecture, an address of another kernel. While rows are put together, a key that has a name is both, and
// so it does not matter who told it first. Keys are shown as numbers with names, as one machine does, where
// each number has one name, and as names where it has several.

// nameKeys are the keys of a row with their names.
func (m *merged) nameKeys(key []event.Value, names []string) []event.Value {
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

// plain is a key without its name.
func (m *merged) plain(k int, v event.Value) event.Value {
	if _, named := m.names[k][v.String()]; named {
		return v.List()[0]
	}
	return v
}

// plainKeys are the keys of a row without their names.
func (m *merged) plainKeys(key []event.Value) []event.Value {
	own := slices.Clone(key)
	for k := range own {
		own[k] = m.plain(k, own[k])
	}
	return own
}

// showKeys makes the keys of rows, which are the caller's, those that are shown, and says how.
func (m *merged) showKeys(rows [][]event.Value) []view.Show {
	shows := make([]view.Show, len(m.Form.Columns))
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
