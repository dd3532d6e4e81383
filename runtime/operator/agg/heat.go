package agg

import (
	"math/bits"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

const (
	heatColumns = 240
	// Integer parts below 16 have a row each; larger values have eight rows for each doubling. All
	// negative values share the last row.
	heatSubs     = 8
	heatNegative = heatSubs*60 + heatSubs
	heatRows     = heatNegative + 1
	heatStep     = event.Time(1e6)
)

// A Heat counts values by time and by size, in constant memory however long it
// runs: when the columns are used up, they double in width. The zero Heat is
// ready.
type Heat struct {
	step  event.Time
	first int64 // number of the first column: its begin divided by step
	used  int   // columns from first on
	cells [][heatRows]uint64
}

// Add counts a value.
func (h *Heat) Add(at event.Time, v event.Number) {
	at = max(at, 0)
	if h.cells == nil {
		h.cells = make([][heatRows]uint64, heatColumns)
		h.step = heatStep
		h.first = int64(at / h.step)
	}
	c := int64(at/h.step) - h.first
	if c < 0 || c >= heatColumns {
		h.fit(at)
		c = int64(at/h.step) - h.first
	}
	h.used = max(h.used, int(c)+1)
	h.cells[c][heatRow(v)]++
}

// fit moves and widens the columns until one contains at.
func (h *Heat) fit(at event.Time) {
	first, last := h.first, h.first+int64(h.used)-1
	step := h.step
	for {
		now := int64(at / step)
		lo, hi := min(first, now), max(last, now)
		if hi-lo < heatColumns {
			first = lo
			break
		}
		step *= 2
		first, last = first/2, last/2
	}
	old := h.cells
	wider := int64(step / h.step)
	h.cells = make([][heatRows]uint64, heatColumns)
	used := 0
	for c := range h.used {
		to := (h.first+int64(c))/wider - first
		used = int(to) + 1
		for r, n := range old[c] {
			h.cells[to][r] += n
		}
	}
	h.step, h.first, h.used = step, first, used
}

func heatRow(n event.Number) int {
	v, negative := n.Magnitude()
	switch {
	case negative:
		return heatNegative
	case v < heatSubs:
		return int(v)
	}
	e := bits.Len64(v) - 4
	return min(heatSubs*e+int(v>>e), heatNegative-1) // from 2^63 on
}

// heatLow is the least value of a row of values that are not negative.
func heatLow(row int) int64 {
	if row < 2*heatSubs {
		return int64(row)
	}
	e := row/heatSubs - 1
	if row == heatNegative {
		return result.OpenHi
	}
	return int64(heatSubs+row%heatSubs) << e
}

// Result returns the counts: the rows from the least value to the greatest. There are at most rows
// of them for values from 1 on; neighbours are joined if there are more. Negative values have a row
// of their own, and so have values from 0 to less than 1. Of Meta it sets only Begin and End.
func (h *Heat) Result(rows int) *result.Heatmap {
	m := &result.Heatmap{Step: h.step, Columns: h.used}
	m.Begin = event.Time(h.first) * h.step
	m.End = m.Begin + event.Time(h.used)*h.step
	var some [heatRows]bool
	lo, hi := heatRows, 0 // of the rows from 1 on
	for c := range h.used {
		for r, n := range h.cells[c] {
			if n > 0 {
				some[r] = true
				if r > 0 && r < heatNegative {
					lo, hi = min(lo, r), max(hi, r)
				}
			}
		}
	}
	if some[heatNegative] {
		m.Rows = append(m.Rows, h.row(heatNegative, heatNegative+1, result.OpenLo, 0))
	}
	if some[heatNegative] && hi > 0 || some[0] {
		m.Rows = append(m.Rows, h.row(0, 1, 0, 1))
		lo = min(lo, 1)
	}
	if hi == 0 {
		return m
	}
	wide := 1
	for hi/wide-lo/wide >= rows {
		wide *= 2
	}
	for r := lo / wide; r <= hi/wide; r++ {
		from, to := max(r*wide, 1), min((r+1)*wide, heatNegative)
		m.Rows = append(m.Rows, h.row(from, to, heatLow(from), heatLow(to)))
	}
	return m
}

// row adds up the rows from one to before another.
func (h *Heat) row(from, to int, lo, hi int64) result.HeatRow {
	row := result.HeatRow{Lo: lo, Hi: hi, Counts: make([]uint64, h.used)}
	for c := range h.used {
		for _, n := range h.cells[c][from:to] {
			row.Counts[c] += n
		}
	}
	return row
}
