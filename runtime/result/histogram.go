package result

import (
	"math"
	"slices"

	"ppscript/runtime/event"
)

// A Distribution counts values by range. The cells of a column whose Type is Distributions
// refer to them by index.
type Distribution struct {
	Buckets []Bucket // ascending; empty ones inside may be left out
	Sum     float64  // sum of the values
}

// A Bucket counts the values v with Lo <= v < Hi, in the unit's base.
type Bucket struct {
	Lo, Hi int64
	Count  uint64
}

// OpenLo and OpenHi are the bounds of buckets without a lower or an upper
// bound.
const (
	OpenLo = math.MinInt64
	OpenHi = math.MaxInt64
)

// Total returns the number of values counted.
func (d *Distribution) Total() uint64 {
	var n uint64
	for i := range d.Buckets {
		n += d.Buckets[i].Count
	}
	return n
}

// A KeyDistribution is a key with the distribution of its values.
type KeyDistribution struct {
	Key []event.Value
	Distribution
}

// NewHistogram makes a histogram: a table with columns for the keys, and after them one column
// of distributions. value has the name of the counted field, such as "delay", and the unit of
// the shown bounds. The keys of rows are copied, the distributions are not.
func NewHistogram(m Meta, keys []Column, value Column, rows []KeyDistribution) *Table {
	value.Type, value.Merging = Distributions, Added
	value.Distributions = make([]Distribution, len(rows))
	t := &Table{Meta: m, Columns: append(slices.Clip(keys), value)}
	for i := range rows {
		value.Distributions[i] = rows[i].Distribution
		row := make([]event.Value, len(keys)+1) // a key may have fewer cells
		copy(row, rows[i].Key[:min(len(keys), len(rows[i].Key))])
		row[len(keys)] = event.IntOf(int64(i))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Histogram returns the index of the column of distributions if the table is a histogram, else
// -1. The columns before it are the keys.
func (t *Table) Histogram() int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Type == Distributions })
}

// Distribution returns the distribution whose index is in a cell of the column; it is empty if
// the cell is.
func (c *Column) Distribution(cell event.Value) *Distribution {
	if at := cell.Int(); cell.Kind != event.None && at >= 0 && at < int64(len(c.Distributions)) {
		return &c.Distributions[at]
	}
	return &Distribution{}
}
