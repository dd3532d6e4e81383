package formats

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file checks the rows of JSON: their names, and that numbers fit their
// units.

// scales are the units of results, each with its base unit and its factor.
var scales = map[string]struct {
	base  string
	scale float64
}{
	"ns": {"ns", 1}, "us": {"ns", 1e3}, "ms": {"ns", 1e6}, "s": {"ns", 1e9},
	"B": {"B", 1}, "KiB": {"B", 1 << 10}, "MiB": {"B", 1 << 20}, "GiB": {"B", 1 << 30},
	"%": {"%", 1}, "Hz": {"Hz", 1}, "cycles": {"cycles", 1}, "kcyc": {"cycles", 1e3},
}

// shaped matches numbers in forms for people: [003], (12, 0), 12.5%, and a dash
// for nothing.
var shaped = regexp.MustCompile(`^(?:\[ *\d+ *\]|\([\d., ]*\)|-?[\d.]+ ?%|-)$`)

// whole are the columns with numbers of CPUs and tasks, which are integers.
var whole = []string{"cpu", "pid", "tid", "thread"}

// A column is the description of a column in JSON.
type column struct{ name, kind, unit, textUnit string }

func columnsOf(v any) (columns []column) {
	list, _ := v.([]any)
	for _, x := range list {
		text := func(name string) string { s, _ := asObject(x)[name].(string); return s }
		columns = append(columns, column{text("name"), text("kind"), text("unit"), text("text_unit")})
	}
	return columns
}

// rows checks that rows have the members that the columns name, and no others.
func (c *checker) rows(of any, rows []any) {
	columns := columnsOf(of)
	names := map[string]bool{}
	for _, x := range columns {
		if names[x.name] {
			c.failf("two columns are called %s", x.name)
		}
		names[x.name] = true
		c.units(x)
	}
	for i, r := range rows {
		row := asObject(r)
		// The last row may be a row of totals, with a label.
		totals := i > 0 && i == len(rows)-1
		for j, x := range columns {
			v, ok := row[x.name]
			if !ok {
				c.failf("row %d has no %s", i, x.name)
				continue
			}
			if _, isText := v.(string); !(totals && j == 0 && isText) {
				c.cell(x, v, row[x.name+"_text"])
			}
		}
		for name := range row {
			base, _ := strings.CutSuffix(name, "_text")
			if !names[name] && !names[base] {
				c.failf("row %d has %s, which no column names", i, name)
			}
		}
	}
}

func (c *checker) units(x column) {
	if x.unit != "" && scales[x.unit].scale != 1 {
		c.failf("column %s: unit is %s, want a base unit", x.name, x.unit)
	}
	if x.textUnit != "" && (scales[x.textUnit].scale == 0 || scales[x.textUnit].base != x.unit) {
		c.failf("column %s: text_unit is %s, want one of %s", x.name, x.textUnit, x.unit)
	}
}

// cell checks one cell: a number is a number, and its text is the number in the
// unit of the text.
func (c *checker) cell(x column, v, twin any) {
	text, isText := v.(string)
	if isText && x.kind == "value" {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			c.failf("column %s: got the text %q, want the number", x.name, text)
		}
	}
	if isText && shaped.MatchString(text) {
		c.failf("column %s: got the text %q, want the number", x.name, text)
	}
	number, isNumber := v.(json.Number)
	if slices.Contains(whole, x.name) && v != nil && !isNumber {
		c.failf("column %s: got %v, want a number", x.name, v)
	}
	shown, isShown := twin.(string)
	if !isNumber || !isShown || x.textUnit == "" {
		return
	}
	n, _ := number.Float64()
	got, err := strconv.ParseFloat(shown, 64)
	if err != nil {
		return // a number's name
	}
	scale := scales[x.textUnit].scale
	if off := math.Abs(got*scale - n); off > scale/2 && off > math.Abs(n)*1e-6 {
		c.failf("column %s: %v %s is shown as %s %s", x.name, number, x.unit, shown, x.textUnit)
	}
}
