package mergeable

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/outlier"
)

// This file compares the machines of a window, and finds the machines and rows that differ from the
// others. For that, the frames of each machine are also merged separately.
//
// A cell is a column of a row. If a machine lacks the row, its counts and sums are 0, and its other
// numbers are missing. For stacks, the cells are the innermost functions with their number of
// samples. For histograms, they are the number of values and the mean of each row.

// Outliers are the machines that differ from the others.
type Outliers struct {
	Hosts    int // compared machines
	Compared int // compared numbers, each of one machine
	Found    int // machines that differ
	// Table has the numbers that differ, the most different machine first; nil if there are none.
	Table *result.Table
}

// mostOutliers bounds the rows of the table; the others are only counted.
const mostOutliers = 50

// cells collects the numbers of all machines.
type cells struct {
	list   []*cell
	byName map[string]*cell
}

// put adds a number of a machine.
func (c *cells) put(like cell, row []byte, host string, v float64) {
	id := like.result + "\x00" + like.column + "\x00" + string(row)
	own := c.byName[id]
	if own == nil {
		own = new(cell)
		*own = like
		own.values, own.of = map[string]float64{}, map[string]float64{}
		c.byName[id] = own
		c.list = append(c.list, own)
	}
	own.values[host] += v
	own.of[host] += like.events
}

// Outliers compares hosts, which must have sent all of their frames for the
// window. Merger.Apart must be set.
func (w *Window) Outliers(hosts []string) *Outliers {
	all := &cells{byName: map[string]*cell{}}
	hosts = slices.Sorted(slices.Values(hosts))
	for _, host := range hosts {
		if own := w.apart[host]; own != nil {
			for _, m := range own.results {
				m.cells(all, host)
			}
		}
	}
	o := &Outliers{Hosts: len(hosts)}
	var test outlier.Test
	values, events := make([]float64, len(hosts)), make([]float64, len(hosts))
	for i, c := range all.list {
		numbers := outlier.Cell{Values: values, Counts: c.counts}
		if c.sums {
			numbers.Events = events
		}
		for k, host := range hosts {
			v, ok := c.values[host]
			if !ok && !c.zero {
				v = math.NaN()
			}
			values[k], events[k] = v/c.scale, c.of[host]
		}
		test.Add(i, &numbers)
	}
	o.Compared = test.Compared
	o.table(test.Findings(), all.list, hosts)
	return o
}

// cells adds the numbers of one machine's result to all.
func (m *mergedResult) cells(all *cells, host string) {
	m.numbers(func(like *cell, row []byte, v float64) { all.put(*like, row, host, v) })
	if m.stacks == nil {
		return
	}
	for i := range m.stacks.Samples {
		s := &m.stacks.Samples[i]
		name := "[no stack]"
		if len(s.Frames) > 0 {
			name = cmp.Or(s.Frames[0].Symbol, s.Frames[0].DSO, "[unknown]")
		}
		all.put(cell{result: m.Name, row: name, column: "samples", scale: 1, counts: true, zero: true},
			[]byte(name), host, float64(s.Count))
	}
}

// table makes the table of the findings.
func (o *Outliers) table(found []outlier.Finding, list []*cell, hosts []string) {
	worst := map[int]float64{}
	for i := range found {
		f := &found[i]
		worst[f.Source] = max(worst[f.Source], math.Abs(f.Z))
	}
	if o.Found = len(worst); o.Found == 0 {
		return
	}
	// The machine that differs most comes first; its rows are sorted by how
	// much they differ.
	slices.SortStableFunc(found, func(a, b outlier.Finding) int {
		return cmp.Or(cmp.Compare(worst[b.Source], worst[a.Source]), cmp.Compare(a.Source, b.Source),
			cmp.Compare(math.Abs(b.Z), math.Abs(a.Z)))
	})
	text := func(name string) result.Column {
		return result.Column{Name: name, Kind: result.KeyColumn, Left: true}
	}
	number := func(name string, prec int) result.Column {
		return result.Column{Name: name, Width: 10, Prec: prec}
	}
	p := number("p", 0)
	p.Text = func(v event.Value) string { return strconv.FormatFloat(v.Float(), 'g', 2, 64) }
	p.Shape = true
	t := &result.Table{Columns: []result.Column{text("host"), text("result"), text("row"), text("column"),
		number("value", 2), text("unit"), number("median", 2), number("spread", 2), number("z", 1), p}}
	t.Columns[5].Kind = result.ValueColumn
	for i := range found {
		f := &found[i]
		c := list[f.Cell]
		t.Rows = append(t.Rows, []event.Value{event.StrOf(hosts[f.Source]), event.StrOf(c.result),
			event.StrOf(c.row), event.StrOf(c.column), event.FloatOf(f.Value), event.StrOf(c.unit),
			event.FloatOf(f.Median), event.FloatOf(f.Spread), event.FloatOf(f.Z), event.FloatOf(f.P)})
	}
	t.Name = "outliers"
	t.Top(mostOutliers)
	o.Table = t
}

// alone adds a frame to the separate results of its machine.
func (w *Window) alone(f *Frame) error {
	own := w.apart[f.Host]
	if own == nil {
		m := *w.merger
		m.Apart, m.ByHost = false, false
		if own = m.NewWindow(); w.apart == nil {
			w.apart = map[string]*Window{}
		}
		w.apart[f.Host] = own
	}
	alone := *f
	alone.Results = slices.DeleteFunc(slices.Clone(f.Results), func(r Result) bool { return r.Kind == Lines })
	return own.Add(&alone)
}
