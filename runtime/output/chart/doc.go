// Package chart draws results as text for a terminal: bars of a table's numbers, histograms, heat
// maps, and lines over intervals. The prompt's plot calls it.
//
// A drawing is characters that terminals have had for decades, blocks of eighths and braille dots, and
// colours only where Options allows them: without, it says the same. It does not choose what is drawn.
package chart

import (
	"strings"

	"ppscript/runtime/output/render"
)

// Options say how large a drawing may be; the zero Options is 80 cells wide, without colours.
type Options struct {
	Width  int
	Height int // of heat maps and lines; 0 is 12
	Color  bool
}

func (o Options) width() int {
	if o.Width <= 0 {
		return 80
	}
	return max(o.Width, 40)
}

func (o Options) height() int {
	if o.Height <= 0 {
		return 12
	}
	return max(o.Height, 4)
}

// eighths are the parts of a cell, from the left.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar is a bar for part of whole in so many cells. What is not nothing is seen.
func bar(part, whole float64, cells int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	n := max(int(part/whole*float64(cells)*8+0.5), 1)
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// pad fills text with blanks to so many cells, before it or behind it.
func pad(text string, cells int, before bool) string {
	n := 0
	for _, r := range text {
		n += render.RuneCells(r)
	}
	blanks := strings.Repeat(" ", max(cells-n, 0))
	if before {
		return blanks + text
	}
	return text + blanks
}

// wide is how many cells a text has.
func wide(text string) int {
	n := 0
	for _, r := range text {
		n += render.RuneCells(r)
	}
	return n
}

// cut is a text that is at most so wide.
func cut(text string, cells int) string {
	n := 0
	for i, r := range text {
		if n += render.RuneCells(r); n > cells {
			return text[:max(i-1, 0)] + "…"
		}
	}
	return text
}
