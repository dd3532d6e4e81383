package metric

import (
	"math"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// A group has the metrics of one result: rows by labels, and for each column a value of
// each row.
type group struct {
	script *Recorder
	name   string

	keys   []int    // the columns that are labels; nil until the first result
	labels []string // their names
	rows   map[string]int
	values [][]string // the labels of each row
	other  int        // 1 + the index of the row for keys beyond the bound; 0 if there is none
	stamp  int        // number of the interval; gauges of earlier intervals are no longer valid
	title  string

	columns []*column
	hists   []*histogram
}

// A column is a metric with a number for each row, in the base of its unit.
type column struct {
	name    string // name of the result's column
	metric  string
	help    string
	unit    Unit
	merging result.Merging
	// shrank says that a negative number was added. A counter may not decrease, so the
	// column is a gauge from then on.
	shrank bool
	values []float64
	stamps []int // stamp of the interval that set the value, 0 if none did
}

// table adds an interval's table: numbers and distributions. fine says that the buckets
// are eighths of powers of two.
func (g *group) table(t *result.Table, fine bool) {
	g.stamp++
	g.title = t.Title
	if at := t.Histogram(); g.keys == nil && at >= 0 {
		g.all(t.Columns[:at])
	} else if g.keys == nil {
		g.choose(t)
	}
	if g.keys == nil {
		return // an answer of a query without rows has no types of columns
	}
	for row := range t.All() {
		if t.Total != "" && len(row) > 0 && row[0].Kind == event.StrValue && row[0].String() == t.Total &&
			g.empty(row[1:]) {
			continue // the row has the sums of the others
		}
		at := g.row(t.Columns, row)
		for i := range t.Columns {
			c := &t.Columns[i]
			switch {
			case i >= len(row) || slices.Contains(g.keys, i):
			case c.Type == result.Distributions:
				g.distribution(c, fine).take(at, c.Distribution(row[i]))
			case number(row[i]):
				g.column(c, row[i]).take(at, row[i].Float(), g.stamp, at+1 == g.other)
			}
		}
	}
}

// empty reports whether all keys after the first column have no value.
func (g *group) empty(rest []event.Value) bool {
	for _, i := range g.keys {
		if i > 0 && i <= len(rest) && rest[i-1].Kind != event.None {
			return false
		}
	}
	return true
}

// number reports whether a cell can be the value of a metric: a finite number
// that is no point in time.
func number(v event.Value) bool {
	if v.Kind == event.FloatValue && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
		return false
	}
	return v.Numeric() && v.Kind != event.TimeValue
}

// choose selects the columns that become labels: the keys. The answer of an SQL query has
// no keys; there the columns with texts become labels.
func (g *group) choose(t *result.Table) {
	var keys []int
	for i := range t.Columns {
		if t.Columns[i].Kind == result.KeyColumn {
			keys = append(keys, i)
		}
	}
	if len(keys) == 0 {
		if len(t.Rows) == 0 {
			return
		}
		for i := range t.Columns {
			if t.Columns[i].Merging == result.NotMerged && slices.ContainsFunc(t.Rows,
				func(row []event.Value) bool {
					return i < len(row) && row[i].Kind == event.StrValue
				}) {
				keys = append(keys, i)
			}
		}
	}
	names := make([]string, len(keys))
	for at, i := range keys {
		names[at] = t.Columns[i].Name
	}
	g.keys, g.labels = append([]int{}, keys...), labelNames(names)
}

// all makes all columns labels.
func (g *group) all(columns []result.Column) {
	g.keys = []int{}
	names := make([]string, len(columns))
	for i := range columns {
		g.keys, names[i] = append(g.keys, i), columns[i].Name
	}
	g.labels = labelNames(names)
}

// row returns the index of the row whose labels are in cells.
func (g *group) row(columns []result.Column, cells []event.Value) int {
	labels := make([]string, len(g.keys))
	for at, i := range g.keys {
		if i < len(cells) && i < len(columns) {
			labels[at] = labelText(&columns[i], cells[i])
		}
	}
	return g.labelled(labels)
}

func (g *group) labelled(labels []string) int {
	key := strings.Join(labels, "\x00")
	if at, ok := g.rows[key]; ok {
		return at
	}
	// A table's own row for keys beyond its bound shares the row for labels beyond
	// the bound of series.
	others := !slices.ContainsFunc(labels, func(s string) bool { return s != Other })
	if own := len(g.values) - min(g.other, 1); (others || own >= g.script.store.Limit) && len(labels) > 0 {
		if g.other == 0 {
			g.values = append(g.values, slices.Repeat([]string{Other}, len(labels)))
			g.other = len(g.values)
		}
		return g.other - 1
	}
	at := len(g.values)
	for i, s := range labels {
		labels[i] = strings.Clone(s) // s may be a view
	}
	g.values = append(g.values, labels)
	g.rows[strings.Clone(key)] = at
	return at
}

// column returns the metric of a column; v is one of its values.
func (g *group) column(c *result.Column, v event.Value) *column {
	for _, own := range g.columns {
		if own.name == c.Name {
			return own
		}
	}
	own := &column{name: strings.Clone(c.Name), unit: unitOf(c.Unit, v), merging: c.Merging}
	own.help = g.help(c.Name)
	g.columns = append(g.columns, own)
	g.baptize(own)
	return own
}

// help returns the help text of a metric.
func (g *group) help(column string) string {
	result, _, _ := strings.Cut(g.name, "/")
	text := column + " of result " + result + " of script " + g.script.name
	if g.title != "" {
		text += ": " + g.title
	}
	return plain.Line(text) + "."
}

// baptize sets the name of a column's metric.
func (g *group) baptize(c *column) {
	word := nameWord(c.name)
	suffix := c.unit.suffix()
	if c.counts() {
		// Avoids names such as total_seconds_total.
		if word == "total" || word == "sum" {
			word = ""
		}
		suffix += "_total"
	}
	name := g.metric(word)
	if !c.counts() && suffix == "" {
		name = notReserved(name)
	}
	c.metric = g.script.store.claim(name, suffix, g.owner(c.name))
}

func (g *group) owner(column string) string {
	return strings.Join([]string{g.script.name, g.name, column}, "\x00")
}

// metric returns the name of a metric without its unit. The default names of results
// (table, histogram, stacks) are left out.
func (g *group) metric(word string) string {
	parts := []string{g.script.prefix}
	result, _, _ := strings.Cut(g.name, "/")
	if result != "table" && result != "histogram" && result != "stacks" && result != "" {
		parts = append(parts, nameWord(result))
	}
	if word != "" {
		parts = append(parts, word)
	}
	return strings.Join(parts, "_")
}

// counts reports whether the metric is a counter.
func (c *column) counts() bool { return c.merging == result.Added && !c.shrank }

// take adds the value of a row. shared says that many keys share the row: a value that
// cannot be merged is then ignored.
func (c *column) take(at int, v float64, stamp int, shared bool) {
	for len(c.values) <= at {
		c.values, c.stamps = append(c.values, 0), append(c.stamps, 0)
	}
	again := c.stamps[at] == stamp
	switch {
	case c.merging == result.Added:
		c.values[at] += v
		c.shrank = c.shrank || v < 0
	case shared && c.merging == result.NotMerged:
		return
	case again && c.merging == result.Least:
		c.values[at] = min(c.values[at], v)
	case again && c.merging == result.Greatest:
		c.values[at] = max(c.values[at], v)
	default:
		c.values[at] = v
	}
	c.stamps[at] = stamp
}

// snapshot returns the current metrics of the group.
func (g *group) snapshot() []Family {
	var list []Family
	for _, c := range g.columns {
		if c.shrank && strings.HasSuffix(c.metric, "_total") {
			g.baptize(c)
		}
		f := Family{Name: c.metric, Help: c.help, Unit: c.unit, Labels: g.labels, Kind: Gauge}
		if c.counts() {
			f.Kind = Counter
		}
		for at, stamp := range c.stamps {
			if stamp == 0 || c.merging != result.Added && stamp != g.stamp {
				continue
			}
			f.Series = append(f.Series, Series{Labels: g.values[at], Value: c.unit.of(c.values[at])})
		}
		if len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	for _, h := range g.hists {
		if f := h.snapshot(g); len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// stacks adds an interval's samples, by their keys.
func (g *group) stacks(s *result.Stacks) {
	g.stamp++
	g.title = s.Title
	if g.keys == nil {
		g.all(s.Keys)
	}
	samples := result.Column{Name: "samples", Merging: result.Added}
	value := result.Column{Name: s.Value, Unit: s.Unit, Merging: result.Added}
	for _, list := range [][]result.StackSample{s.Samples, s.Rest} {
		for i := range list {
			x := &list[i]
			at := g.row(s.Keys, x.Key)
			n := event.UintOf(x.Count)
			g.column(&samples, n).take(at, n.Float(), g.stamp, false)
			if s.Value != "" {
				v := event.IntOf(x.Value)
				g.column(&value, v).take(at, v.Float(), g.stamp, false)
			}
		}
	}
}
