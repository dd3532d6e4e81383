package chart

import (
	"fmt"
	"math"
	"strings"
)

// A Line has the values of one number in successive intervals; NaN if unknown.
type Line struct {
	Label  string
	Values []float64
	// Text formats a value.
	Text func(v float64) string
}

func (l *Line) bounds() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range l.Values {
		if !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// Lines draws numbers over intervals. A single line is a curve on a scale from 0. Several lines are
// one row each, on a common scale, with their minimum and maximum. span is the text for the time of
// all intervals.
func Lines(title string, list []Line, span string, o Options) string {
	if title != "" {
		title += "\n"
	}
	switch {
	case len(list) == 0:
		return title
	case len(list) == 1:
		return title + curve(&list[0], span, o)
	}
	return title + rows(list, span, o)
}

// levels are the characters for values in a row, from low to high.
var levels = []rune(" ▁▂▃▄▅▆▇█")

func rows(list []Line, span string, o Options) string {
	labels, texts, most := 0, 0, 0.0
	ends := make([]string, len(list))
	for i := range list {
		lo, hi := list[i].bounds()
		if hi < lo {
			lo, hi = 0, 0
		}
		ends[i] = list[i].Text(lo) + " to " + list[i].Text(hi)
		labels, texts = max(labels, wide(list[i].Label)), max(texts, wide(ends[i]))
		most = max(most, hi)
	}
	labels = min(labels, o.width()/3)
	cells := max(o.width()-labels-texts-3, 10)
	var b strings.Builder
	shown := 0
	for i := range list {
		line := ""
		values := squeeze(list[i].Values, cells)
		shown = len(values)
		for _, v := range values {
			n := 0
			if !math.IsNaN(v) && v > 0 && most > 0 {
				n = max(int(v/most*8+0.5), 1)
			}
			line += string(levels[n])
		}
		b.WriteString(pad(cut(list[i].Label, labels), labels, false) + " " + pad(line, shown, false) + " " +
			pad(ends[i], texts, true) + "\n")
	}
	fmt.Fprintf(&b, "%s 0%s\n", strings.Repeat(" ", labels), pad(" "+span, shown-1, true))
	return b.String()
}

// squeeze reduces values to at most n, each the maximum of its neighbours.
func squeeze(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i, v := range values {
		at := &out[i*n/len(values)]
		if math.IsNaN(*at) || v > *at {
			*at = v
		}
	}
	return out
}

// dots has the bits of a braille character by column, and by row from the top.
var dots = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

// curve draws a line of braille dots; a cell has two columns and four rows of
// dots.
func curve(l *Line, span string, o Options) string {
	_, hi := l.bounds()
	if hi <= 0 || math.IsInf(hi, 0) {
		hi = 1
	}
	height := o.height()
	top := l.Text(hi)
	left := max(wide(top), wide(l.Text(0)), wide(l.Text(hi/2)))
	cells := max(min(o.width()-left-2, 2*len(l.Values)), 10)
	grid := make([][]rune, height)
	for i := range grid {
		grid[i] = make([]rune, cells)
	}
	plot := func(x, y int) {
		if x >= 0 && x < 2*cells && y >= 0 && y < 4*height {
			grid[height-1-y/4][x/2] |= dots[x%2][3-y%4]
		}
	}
	at := func(v float64) int { return int(v / hi * float64(4*height-1)) }
	values := squeeze(l.Values, 2*cells)
	last := len(values) - 1
	x := func(i int) int { return i * (2*cells - 1) / max(last, 1) }
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		plot(x(i), at(v))
		if i == last || math.IsNaN(values[i+1]) {
			continue
		}
		// A straight line to the next value.
		from, to := x(i), x(i+1)
		steps := max(to-from, abs(at(values[i+1])-at(v)), 1)
		for s := range steps {
			f := float64(s) / float64(steps)
			plot(from+int(f*float64(to-from)+0.5), at(v+f*(values[i+1]-v)))
		}
	}
	var b strings.Builder
	for i, row := range grid {
		label := ""
		switch i {
		case 0:
			label = top
		case height / 2:
			label = l.Text(hi / 2)
		case height - 1:
			label = l.Text(0)
		}
		b.WriteString(pad(label, left, true) + " │")
		line := ""
		for _, r := range row {
			if r == 0 {
				line += " "
			} else {
				line += string(0x2800 + r)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", left) + " └" + strings.Repeat("─", cells) + "\n")
	b.WriteString(strings.Repeat(" ", left+2) + "0" + pad(" "+span, cells-1, true) + "\n")
	return b.String()
}

func abs(n int) int { return max(n, -n) }
