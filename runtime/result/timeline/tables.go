package timeline

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file shows tables. Each number of a row becomes a counter, whose value changes at
// the begin of each interval. It is 0 in intervals without the row.

// maxCounters bounds the counters. Numbers of rows that come later are left out; the first
// rows of a table are the most important ones.
const maxCounters = 4096

// counters are the counters of tables.
type counters struct {
	of    map[cell]*counter
	table map[string][]*counter
	out   map[cell]bool
}

// A cell identifies a number of a table: the table's label, the keys of the
// row, the column.
type cell struct{ table, row, column string }

type counter struct {
	track *Track
	seq   int // the last interval that had the number
}

func newCounters() counters {
	return counters{of: map[cell]*counter{}, table: map[string][]*counter{}, out: map[cell]bool{}}
}

// Table makes counters of a table of an interval.
func (b *Builder) Table(t *result.Table) {
	if t.Seq == 0 {
		return // there are no intervals
	}
	label := string(plain.Append(nil, t.Label()))
	for _, row := range t.Rows {
		key := rowName(t.Columns, row)
		for i := range min(len(row), len(t.Columns)) {
			c := &t.Columns[i]
			number := row[i].Numeric() && c.Type == result.Plain && row[i].Kind != event.TimeValue
			if number && c.Kind != result.KeyColumn {
				b.cell(cell{label, key, c.Name}, c, t, row[i].Float())
			}
		}
	}
	for _, x := range b.counters.table[label] {
		if x.seq != t.Seq {
			b.count(x, t, 0)
		}
	}
}

// cell sets the counter of a number, and makes it if it is new.
func (b *Builder) cell(at cell, c *result.Column, t *result.Table, v float64) {
	x := b.counters.of[at]
	if x == nil {
		if len(b.counters.of) >= maxCounters {
			if len(b.counters.out) < maxCounters {
				b.counters.out[at] = true
			}
			return
		}
		name := at.column
		if at.row != "" {
			name = at.row + ": " + name
		}
		x = &counter{track: b.tracks.track(Track{Kind: OfCounter, Name: string(plain.Append(nil, name)),
			Unit: c.Unit, Parent: b.tracks.group(at.table)})}
		b.counters.of[at] = x
		b.counters.table[at.table] = append(b.counters.table[at.table], x)
	}
	b.count(x, t, v)
}

func (b *Builder) count(x *counter, t *result.Table, v float64) {
	x.seq = t.Seq
	x.track.end = max(t.Begin, x.track.end)
	b.item = Item{Kind: Counter, Time: x.track.end, Track: x.track, Name: x.track.Name, Value: v}
	b.write()
}

// Uncounted returns how many numbers of tables have no counter; it counts up to
// maxCounters.
func (b *Builder) Uncounted() int { return len(b.counters.out) }

// rowName joins the keys of a row as text shows them.
func rowName(columns []result.Column, row []event.Value) string {
	var names []string
	for i := range min(len(row), len(columns)) {
		c, v := &columns[i], row[i]
		if c.Kind != result.KeyColumn {
			continue
		}
		name, ok := "", false
		switch {
		case c.Text != nil && !c.Shape:
			name, ok = c.Text(v), true
		case c.Names != nil:
			name, ok = c.Names(v)
		}
		if !ok {
			name = v.String()
		}
		names = append(names, strings.TrimSpace(name))
	}
	return strings.Join(names, " ")
}
