package result

import (
	"math"
	"slices"

	"ppscript/runtime/event"
)

// A Distribution counts the values of a number by range. It is a cell of a column whose Type is
// Distributions.
type Distribution struct {
	Buckets []Bucket // ascending; empty ones inside may be left out
	Sum     float64  // of the values
}

// A Bucket counts the values v with Lo <= v < Hi, in the unit's base.
type Bucket struct {
	Lo, Hi int64
	Count  uint64
}

// OpenLo and OpenHi as bounds mean that the bucket has none on that side.
const (
	OpenLo = math.MinInt64
	OpenHi = math.MaxInt64
)

// Total is the number of values counted.
func (d *Distribution) Total() uint64 {
	var n uint64
	for i := range d.Buckets {
		n += d.Buckets[i].Count
	}
	return n
}

// A KeyDistribution is the distribution for one key.
type KeyDistribution struct {
	Key []event.Value
	Distribution
}

// NewHistogram makes a histogram: a table with the columns of its keys, and behind them one of
// distributions. value has the name of the counted field, "delay", and the unit of the shown
// bounds. The keys of rows are copied, distributions are not.
func NewHistogram(m Meta, keys []Column, value Column, rows []KeyDistribution) *Table {
	value.Type, value.Merging = Distributions, Added
	value.Distributions = make([]Distribution, len(rows))
	t := &Table{Meta: m, Columns: append(slices.Clip(keys), value)}
	for i := range rows {
		value.Distributions[i] = rows[i].Distribution
		row := make([]event.Value, len(keys)+1) // keys may lack cells
		copy(row, rows[i].Key[:min(len(keys), len(rows[i].Key))])
		row[len(keys)] = event.IntOf(int64(i))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Histogram is the index of the column of distributions if the table is a histogram, else -1. The
// columns in front of it are the keys.
func (t *Table) Histogram() int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Type == Distributions })
}

// Distribution is the one that a cell of the column stands for; that of an empty cell is empty.
func (c *Column) Distribution(cell event.Value) *Distribution {
	if at := cell.Int(); cell.Kind != event.None && at >= 0 && at < int64(len(c.Distributions)) {
		return &c.Distributions[at]
	}
	return &Distribution{}
}
