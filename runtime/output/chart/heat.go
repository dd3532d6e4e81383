package chart

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file draws heat maps: time to the right, values upwards, and counts as density on a
// logarithmic scale, like the SVG pictures of package render.

// shades are the characters for counts, from few to many.
var shades = []string{"·", "░", "▒", "▓", "█"}

// hues are the corresponding colours, of the palette of 256 terminal colours.
var hues = []int{222, 215, 208, 167, 125}

// Heat draws a heat map.
func Heat(h *result.Heatmap, o Options) string {
	head := fmt.Sprintf("%s: %d values, a column is ", h.Value, h.Total())
	if len(h.Rows) == 0 || h.Columns == 0 {
		return head + unit.Duration(int64(h.Step)) + "\n"
	}
	var b strings.Builder
	labels := make([]string, len(h.Rows))
	left := 0
	for i := range h.Rows {
		labels[i] = low(&h.Rows[i], h.Unit)
		left = max(left, wide(labels[i]))
	}
	perColumn := (h.Columns + o.width() - left - 3) / max(o.width()-left-2, 1)
	perRow := (len(h.Rows) + o.height() - 1) / o.height()
	columns := (h.Columns + perColumn - 1) / perColumn
	var rows [][]uint64 // from the lowest values
	most := uint64(0)
	for i := range h.Rows {
		if i%perRow == 0 {
			rows = append(rows, make([]uint64, columns))
		}
		for c, n := range h.Rows[i].Counts {
			rows[len(rows)-1][c/perColumn] += n
			most = max(most, rows[len(rows)-1][c/perColumn])
		}
	}
	for i := len(rows) - 1; i >= 0; i-- {
		b.WriteString(pad(labels[i*perRow], left, true) + " │")
		line := ""
		for _, n := range rows[i] {
			line += shade(n, most, o.Color)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	step := h.Step * event.Time(perColumn)
	b.WriteString(strings.Repeat(" ", left) + " └" + strings.Repeat("─", columns) + "\n")
	end := unit.Duration(int64(step) * int64(columns))
	b.WriteString(strings.Repeat(" ", left+2) + "0" + pad(" "+end, columns-1, true) + "\n")
	return head + unit.Duration(int64(step)) + "\n" + b.String() + legend(most, o.Color)
}

func low(r *result.HeatRow, u unit.Unit) string {
	if r.Lo == result.OpenLo {
		return "<" + amount(r.Hi, u)
	}
	return amount(r.Lo, u)
}

// amount formats a value in a unit that keeps it short.
func amount(v int64, u unit.Unit) string {
	switch u.Base {
	case "ns":
		return unit.Duration(v)
	case "B":
		return unit.Size(v)
	}
	return render.BoundText(v, u)
}

// level returns the index in shades for a count; most has the last one.
func level(n, most uint64) int {
	if most <= 1 {
		return len(shades) - 1
	}
	return int(math.Log(float64(n)) / math.Log(float64(most)) * (float64(len(shades)) - 0.001))
}

func shade(n, most uint64, color bool) string {
	if n == 0 {
		return " "
	}
	i := level(n, most)
	if color {
		return fmt.Sprintf("\x1b[38;5;%dm█\x1b[0m", hues[i])
	}
	return shades[i]
}

// legend lists the range of counts of each shade.
func legend(most uint64, color bool) string {
	var parts []string
	from := uint64(1)
	for i := range shades {
		// The first count with the next shade.
		to := uint64(sort.Search(int(most), func(n int) bool { return level(uint64(n)+1, most) > i })) + 1
		if to > from {
			text := fmt.Sprintf("%d to %d", from, to-1)
			if to-1 == from {
				text = fmt.Sprint(from)
			}
			parts = append(parts, shade(from, most, color)+" "+text)
			from = to
		}
	}
	return "counts: " + strings.Join(parts, "  ") + "\n"
}

// Over makes a heat map of the histograms of several intervals, with one column for each. The
// distributions of all keys are added up.
func Over(list []*result.Table) *result.Heatmap {
	m := &result.Heatmap{Columns: len(list)}
	if len(list) == 0 {
		return m
	}
	at := list[0].Histogram()
	m.Meta, m.Value, m.Unit = list[0].Meta, list[0].Columns[at].Name, list[0].Columns[at].Unit
	m.End = list[len(list)-1].End
	m.Step = (m.End - list[0].Begin) / event.Time(len(list))
	bounds := map[int64]int64{}
	for n, h := range list {
		if n > 0 {
			m.Loss.Add(h.Loss)
		}
		for _, row := range h.Rows {
			for _, k := range h.Columns[at].Distribution(row[at]).Buckets {
				if k.Count > 0 {
					bounds[k.Lo] = k.Hi
				}
			}
		}
	}
	var all []result.Bucket
	for lo, hi := range bounds {
		all = append(all, result.Bucket{Lo: lo, Hi: hi, Count: 1})
	}
	slices.SortFunc(all, func(a, b result.Bucket) int {
		if a.Lo < b.Lo {
			return -1
		}
		return 1
	})
	place := map[int64]int{}
	for _, k := range spread(all) {
		place[k.Lo] = len(m.Rows)
		m.Rows = append(m.Rows, result.HeatRow{Lo: k.Lo, Hi: k.Hi, Counts: make([]uint64, len(list))})
	}
	for c, h := range list {
		for _, row := range h.Rows {
			for _, k := range h.Columns[at].Distribution(row[at]).Buckets {
				if k.Count > 0 {
					m.Rows[place[k.Lo]].Counts[c] += k.Count
				}
			}
		}
	}
	return m
}
