package render

import (
	"cmp"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file describes columns for JSON and CSV. Programs find a column by its name,
// so names are unique. The unit beside a name is the unit of the numbers: always the
// base unit in JSON, and the same unit as in text in CSV.

// uniqueNames returns unique names for columns, which are also not in taken: a
// second "count" becomes "count_2". No name equals another name followed by
// behind.
func uniqueNames(columns []result.Column, behind string, taken ...string) []string {
	used := make(map[string]bool, 2*len(columns)+len(taken))
	for _, name := range taken {
		used[name] = true
	}
	names := make([]string, len(columns))
	for i := range columns {
		name := columns[i].Name
		for n := 2; used[name] || used[name+behind]; n++ {
			name = columns[i].Name + "_" + strconv.Itoa(n)
		}
		used[name], used[name+behind] = true, true
		names[i] = name
	}
	return names
}

// memberNames returns the names of columns in JSON, where the text of NAME is
// NAME_text.
func memberNames(columns []result.Column) []string { return uniqueNames(columns, "_text") }

// measured returns the unit of column i: the column's unit, else the unit of
// its cells; times and durations are in ns. moment says that the cells are
// points in time.
func measured(c *result.Column, rows [][]event.Value, i int) (u unit.Unit, moment bool) {
	v := event.Value{}
	for _, row := range rows {
		if v = cellOf(row, i); v.Kind == event.ListValue && len(v.List()) > 0 {
			v = v.List()[0]
		}
		if v.Kind != event.None {
			break
		}
	}
	u, moment = c.Unit, v.Kind == event.TimeValue && c.Unit.Scale == 0
	if u.Symbol == "" && (v.Kind == event.DurationValue || moment || u.Base == unit.NS.Base) {
		u = unit.NS
	}
	return u, moment
}

// shareUnit is the unit of columns with ShareOf.
const shareUnit = "reqs"

// csvTitles returns the columns' names in CSV, with their units. Points in time
// are dates, without unit, or seconds.
func csvTitles(columns []result.Column, rows [][]event.Value, dates bool, taken ...string) []string {
	titles := uniqueNames(columns, "", taken...)
	for i := range columns {
		u, moment := measured(&columns[i], rows, i)
		switch {
		case moment && dates:
		case moment:
			titles[i] += "(" + unit.S.Symbol + ")"
		case u.Symbol != "":
			titles[i] += "(" + u.Symbol + ")"
		case columns[i].ShareOf != "":
			titles[i] += "(" + shareUnit + ")"
		}
	}
	return titles
}

// appendColumns writes the description of columns in JSON: name, kind, and the
// units of the numbers and of their texts.
func appendColumns(dst []byte, member string, columns []result.Column, names []string,
	rows [][]event.Value) []byte {
	dst = append(appendJSONString(append(dst, ','), member), ":["...)
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(append(dst, `{"name":`...), names[i])
		kind := "value"
		if columns[i].Kind == result.KeyColumn {
			kind = "key"
		}
		dst = appendJSONString(append(dst, `,"kind":`...), kind)
		u, _ := measured(&columns[i], rows, i)
		dst = appendUnit(dst, u)
		if m := columns[i].Merging; m != result.NotMerged {
			dst = appendJSONString(append(dst, `,"merging":`...), mergings[m])
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// mergings are the words for result.Merging in JSON.
var mergings = [...]string{result.Added: "added", result.Least: "least", result.Greatest: "greatest"}

// appendUnit appends the unit of numbers, and the unit of their texts if it
// differs.
func appendUnit(dst []byte, u unit.Unit) []byte {
	base := cmp.Or(u.Base, u.Symbol)
	if base == "" {
		return dst
	}
	dst = appendJSONString(append(dst, `,"unit":`...), base)
	if u.Symbol != "" && u.Symbol != base {
		dst = appendJSONString(append(dst, `,"text_unit":`...), u.Symbol)
	}
	return dst
}
