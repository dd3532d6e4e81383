package result

import (
	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// A Heatmap counts the values of a field by time and by size.
type Heatmap struct {
	Meta
	// Value names the counted field, "delay"; Unit is the unit in which its values
	// are shown.
	Value string
	Unit  unit.Unit
	// Column i counts the values at times from Begin + i*Step to Begin +
	// (i+1)*Step.
	Step    event.Time
	Columns int
	Rows    []HeatRow // ascending, without gaps
}

// A HeatRow counts the values v with Lo <= v < Hi, by column.
type HeatRow struct {
	Lo, Hi int64
	Counts []uint64
}

// Total returns the number of values counted.
func (h *Heatmap) Total() uint64 {
	var n uint64
	for i := range h.Rows {
		for _, c := range h.Rows[i].Counts {
			n += c
		}
	}
	return n
}
