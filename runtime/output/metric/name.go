package metric

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// This file names metrics, labels and their values by Prometheus' conventions: names
// contain the base unit, counters end in _total, letters are lower-case.

// A Unit is the unit in which a metric is exported.
type Unit struct {
	Name string // suffix in names of metrics; "" for a plain number
	UCUM string // the unit's name in OTLP
	// Per is the number of the result's base units in one unit of the metric:
	// 1e9 ns in a second.
	Per float64
}

// The units of metrics.
var (
	Plain   = Unit{"", "1", 1}
	Seconds = Unit{"seconds", "s", 1e9}
	Bytes   = Unit{"bytes", "By", 1}
	Ratio   = Unit{"ratio", "1", 100}
	Hertz   = Unit{"hertz", "Hz", 1}
	Cycles  = Unit{"cycles", "{cycle}", 1}
)

// unitOf returns the unit of a column's metric; v is one of the column's
// values.
func unitOf(u unit.Unit, v event.Value) Unit {
	switch u.Base {
	case "ns":
		return Seconds
	case "B", "bytes":
		return Bytes
	case "%":
		return Ratio
	case "Hz":
		return Hertz
	case "cycles":
		return Cycles
	case "":
		if v.Kind == event.DurationValue {
			return Seconds
		}
	}
	return Plain
}

func (u Unit) suffix() string {
	if u.Name == "" {
		return ""
	}
	return "_" + u.Name
}

// of converts a result's value to the unit.
func (u Unit) of(v float64) float64 {
	if u.Per > 1 {
		return v / u.Per
	}
	return v
}

// scriptWord returns the part of metrics' names for a script, which may be a
// path.
func scriptWord(name string) string {
	if name == "-c" {
		return "program"
	}
	return nameWord(strings.TrimSuffix(path.Base(name), ".star"))
}

// nameWord converts any text to a part of a metric's name.
func nameWord(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "_") {
			b.WriteByte('_')
		}
	}
	word := strings.TrimRight(b.String(), "_")
	if word == "" {
		return "value"
	}
	return word
}

// notReserved changes the name of a gauge that ends like a counter or a part of a
// histogram.
func notReserved(name string) string {
	for _, end := range []string{"_count", "_sum", "_bucket", "_total", "_info", "_created"} {
		if strings.HasSuffix(name, end) {
			return name + "_value"
		}
	}
	return name
}

// labelNames makes unique names of labels.
func labelNames(columns []string) []string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		name := nameWord(c)
		if name[0] >= '0' && name[0] <= '9' {
			name = "key_" + name
		}
		if name == "le" || name == "quantile" {
			name += "_key" // Prometheus reserves them
		}
		for base, i := name, 2; slices.Contains(names, name); i++ {
			name = base + "_" + strconv.Itoa(i)
		}
		names = append(names, name)
	}
	return names
}

// labelText returns the text of a key, with durations in seconds.
func labelText(c *result.Column, v event.Value) string {
	if c.Names != nil && (c.Text == nil || c.Shape) {
		if name, ok := c.Names(v); ok {
			return plain.Line(name)
		}
	}
	switch {
	case c.Text != nil && !c.Shape:
		return plain.Line(c.Text(v))
	case c.Hex && v.Numeric():
		return "0x" + strconv.FormatUint(v.Uint(), 16)
	case v.Numeric() && unitOf(c.Unit, v) == Seconds:
		return strconv.FormatFloat(v.Float()/1e9, 'g', -1, 64)
	}
	return plain.Line(v.String())
}
