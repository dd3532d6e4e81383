package result

import (
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// A Histogram counts a number into ranges, once for each key.
type Histogram struct {
	Meta
	Keys []Column // tell the rows apart; none for a single histogram
	Rows []HistRow
	// Value names the counted field, "delay"; Unit is the unit of the shown bounds.
	Value string
	Unit  unit.Unit
	// Omitted counts the rows that were taken away from the end, which are in Rest if
	// Keep asks for them.
	Omitted int
	Rest    []HistRow
}

// A HistRow is the distribution for one key.
type HistRow struct {
	Key     []event.Value
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
func (r *HistRow) Total() uint64 {
	var n uint64
	for i := range r.Buckets {
		n += r.Buckets[i].Count
	}
	return n
}

// Top keeps the first n rows and counts the others in Omitted.
func (h *Histogram) Top(n int) {
	n = max(n, 0)
	if n >= len(h.Rows) {
		return
	}
	h.Omitted += len(h.Rows) - n
	if h.Keep {
		h.Rest = append(h.Rest, h.Rows[n:]...)
	} else {
		clear(h.Rows[n:])
	}
	h.Rows = h.Rows[:n:n]
}
