package formats

import (
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file checks CSV, alone and against the JSON of the same run.

// titleUnit matches the unit at the end of a title.
var titleUnit = regexp.MustCompile(`^(.*)\(([^()]+)\)$`)

// A section is lines of CSV below one header.
type section struct {
	header []string
	rows   [][]string
}

// sections splits output at its headers. Comments are left out.
func sections(output string) (list []section, err error) {
	r := csv.NewReader(strings.NewReader(output))
	r.FieldsPerRecord, r.Comment = -1, '#'
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		if len(rec) >= 2 && (rec[0] == "time" || rec[0] == "time(s)") && rec[1] == "result" {
			list = append(list, section{header: rec})
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("got %q before a header", rec)
		}
		s := &list[len(list)-1]
		s.rows = append(s.rows, rec)
	}
	return list, nil
}

// CSV returns the mistakes in output.
func (f *Format) CSV(output string) (wrong []string) {
	list, err := sections(output)
	if err != nil {
		return []string{err.Error()}
	}
	for _, s := range list {
		wrong = append(wrong, s.check()...)
	}
	return wrong
}

func (s *section) check() (wrong []string) {
	failf := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	names := map[string]bool{}
	for _, title := range s.header {
		name, _ := split(title)
		if names[name] {
			failf("%q: two columns are called %s", s.header, name)
		}
		names[name] = true
	}
	for i, row := range s.rows {
		if len(row) != len(s.header) {
			failf("%q: got %d cells below %q", row, len(row), s.header)
			continue
		}
		// A table's last row may be its totals, with their label in the first cell.
		last := i > 0 && (i == len(s.rows)-1 || len(s.rows[i+1]) > 0 && s.rows[i+1][0] != row[0])
		for j, cell := range row {
			if totals := last && j == 2; !totals {
				if why := badCell(s.header[j], cell); why != "" {
					failf("column %s: %s", s.header[j], why)
				}
			}
		}
	}
	return wrong
}

// split returns the name and the unit of a title.
func split(title string) (name, unit string) {
	if m := titleUnit.FindStringSubmatch(title); m != nil {
		return m[1], m[2]
	}
	return title, ""
}

// badCell returns the mistake in a cell below a title, "" if there is none.
func badCell(title, cell string) string {
	name, unit := split(title)
	switch {
	case title == "time":
		if _, err := time.Parse(time.RFC3339Nano, cell); err != nil || !strings.HasSuffix(cell, "Z") {
			return fmt.Sprintf("got %q, want a date of RFC 3339 in UTC", cell)
		}
	case name == "text" || name == "stack":
	case shaped.MatchString(cell):
		return fmt.Sprintf("got %q, want the number, or nothing", cell)
	case scales[unit].scale != 0 || slices.Contains(whole, name):
		for n := range strings.FieldsSeq(cell) { // a list has several
			if _, err := strconv.ParseFloat(n, 64); err != nil {
				return fmt.Sprintf("got %q, want a number", cell)
			}
		}
	}
	return ""
}

// Agree returns the differences between the tables of two outputs of the same
// run: CSV must have the numbers of JSON, in the unit of its header.
func (f *Format) Agree(jsonOut, csvOut string) (wrong []string) {
	list, err := sections(csvOut)
	if err != nil {
		return []string{err.Error()}
	}
	byName := map[string][]map[string]string{}
	for _, s := range list {
		for _, row := range s.rows {
			cells := map[string]string{}
			for j := 2; j < len(row) && j < len(s.header); j++ {
				name, unit := split(s.header[j])
				cells[name], cells[name+" unit"] = row[j], unit
			}
			byName[row[1]] = append(byName[row[1]], cells)
		}
	}
	for line := range strings.Lines(jsonOut) {
		data, kind, err := decode(line)
		if err != nil || kind != "table" {
			continue
		}
		rows, _ := data["rows"].([]any)
		name, _ := data["name"].(string)
		have := byName[name]
		if len(have) < len(rows) {
			wrong = append(wrong, fmt.Sprintf("%s: got %d rows of CSV, %d of JSON", name,
				len(have), len(rows)))
			continue
		}
		byName[name] = have[len(rows):]
		for i, r := range rows {
			wrong = append(wrong, agree(columnsOf(data["columns"]), asObject(r), have[i])...)
		}
	}
	return wrong
}

func agree(columns []column, row map[string]any, cells map[string]string) (wrong []string) {
	for _, x := range columns {
		cell, ok := cells[x.name]
		if !ok {
			// A column with the name of one of the first columns has a number
			// after its name in CSV.
			if cell, ok = cells[x.name+"_2"]; !ok {
				wrong = append(wrong, fmt.Sprintf("CSV has no column %s", x.name))
				continue
			}
		}
		unit := cells[x.name+" unit"]
		got, err := strconv.ParseFloat(cell, 64)
		want, errWant := strconv.ParseFloat(fmt.Sprint(row[x.name]), 64)
		if err != nil || errWant != nil || scales[unit].scale == 0 {
			continue
		}
		scale := scales[unit].scale
		if off := math.Abs(got*scale - want); off > 0.5 && off > math.Abs(want)*1e-9 {
			wrong = append(wrong, fmt.Sprintf("column %s: CSV has %s %s, JSON %v %s", x.name, cell, unit,
				row[x.name], x.unit))
		}
	}
	return wrong
}
