package agg

import (
	"math/bits"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

const (
	heatColumns = 240
	// Values below 16 have a row each, others eight for each doubling.
	heatSubs = 8
	heatRows = heatSubs*60 + heatSubs
	heatStep = event.Time(1e6)
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

// Add counts a value. Values of 0 and less share a row.
func (h *Heat) Add(at event.Time, v int64) {
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

// fit moves and widens the columns so that at is among them.
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

func heatRow(v int64) int {
	if v < heatSubs {
		return int(max(v, 0))
	}
	e := bits.Len64(uint64(v)) - 4
	return heatSubs*e + int(v>>e)
}

// heatLow is the least value of a row.
func heatLow(row int) int64 {
	if row < 2*heatSubs {
		return int64(row)
	}
	e := row/heatSubs - 1
	return int64(heatSubs+row%heatSubs) << e
}

// Result returns the counts: the rows from the least value to the greatest,
// at most so many; more are joined to wider ones. It fills no Meta but Begin
// and End.
func (h *Heat) Result(rows int) *result.Heatmap {
	m := &result.Heatmap{Step: h.step, Columns: h.used}
	m.Begin = event.Time(h.first) * h.step
	m.End = m.Begin + event.Time(h.used)*h.step
	lo, hi := heatRows, -1
	for c := range h.used {
		for r, n := range h.cells[c] {
			if n > 0 {
				lo, hi = min(lo, r), max(hi, r)
			}
		}
	}
	if hi < 0 {
		return m
	}
	wide := 1
	for hi/wide-lo/wide >= rows {
		wide *= 2
	}
	for r := lo / wide; r <= hi/wide; r++ {
		row := result.HeatRow{
			Lo: heatLow(r * wide), Hi: heatLow((r + 1) * wide), Counts: make([]uint64, h.used),
		}
		if (r+1)*wide >= heatRows {
			row.Hi = result.OpenHi
		}
		if r == 0 {
			row.Lo = result.OpenLo
		}
		for c := range h.used {
			for i := r * wide; i < min((r+1)*wide, heatRows); i++ {
				row.Counts[c] += h.cells[c][i]
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}
