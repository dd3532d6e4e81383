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

// This file names metrics, labels and their values by Prometheus' conventions: base units
// in the name, counters end in _total, letters are small.

// A Unit is the unit of a metric.
type Unit struct {
	Name string // in names of metrics; "" is a plain number
	UCUM string // in OTLP
	// Per is how many of the result's units are one of the metric's.
	Per float64
}

// The units that metrics have.
var (
	Plain   = Unit{"", "1", 1}
	Seconds = Unit{"seconds", "s", 1e9}
	Bytes   = Unit{"bytes", "By", 1}
	Ratio   = Unit{"ratio", "1", 100}
	Hertz   = Unit{"hertz", "Hz", 1}
	Cycles  = Unit{"cycles", "{cycle}", 1}
)

// unitOf is the unit of a column; v is one of its values.
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

// of is a result's value in the unit.
func (u Unit) of(v float64) float64 {
	if u.Per > 1 {
		return v / u.Per
	}
	return v
}

// scriptWord is how a script, which may be a path, is called in names.
func scriptWord(name string) string {
	if name == "-c" {
		return "program"
	}
	return nameWord(strings.TrimSuffix(path.Base(name), ".star"))
}

// nameWord makes a part of a metric's name of any text.
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

// notReserved changes the name of a gauge that would read as a part of a histogram or a
// counter.
func notReserved(name string) string {
	for _, end := range []string{"_count", "_sum", "_bucket", "_total", "_info", "_created"} {
		if strings.HasSuffix(name, end) {
			return name + "_value"
		}
	}
	return name
}

// labelNames makes names of labels, which differ.
func labelNames(columns []string) []string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		name := nameWord(c)
		if name[0] >= '0' && name[0] <= '9' {
			name = "key_" + name
		}
		if name == "le" || name == "quantile" {
			name += "_key" // Prometheus has a meaning for them
		}
		for base, i := name, 2; slices.Contains(names, name); i++ {
			name = base + "_" + strconv.Itoa(i)
		}
		names = append(names, name)
	}
	return names
}

// labelText is a key as people read it, with durations in seconds.
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
