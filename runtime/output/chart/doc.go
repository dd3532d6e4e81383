// Package chart draws results as text for a terminal: bars of a table's numbers, histograms, heat
// maps, and lines over intervals. The command plot of the interactive prompt uses it.
//
// Drawings consist of characters that all terminals have: blocks in eighths of a cell, and braille
// dots. Colours are used only if Options allows them, and carry no extra information. The caller
// chooses the data to draw.
package chart

import (
	"strings"

	"ppscript/runtime/output/render"
)

// Options has the size of a drawing and whether it may have colours; the zero Options is 80
// cells wide, without colours.
type Options struct {
	Width  int
	Height int // height of heat maps and lines in rows; 0 is 12
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

// eighths has the characters that fill 0 to 7 eighths of a cell from the left.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar returns a bar for part if a bar for whole has so many cells. A positive
// part has at least one eighth of a cell.
func bar(part, whole float64, cells int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	n := max(int(part/whole*float64(cells)*8+0.5), 1)
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// pad adds blanks before or after a text up to a width in cells.
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

// wide returns the width of a text in cells.
func wide(text string) int {
	n := 0
	for _, r := range text {
		n += render.RuneCells(r)
	}
	return n
}

// cut shortens a text to at most so many cells.
func cut(text string, cells int) string {
	n := 0
	for i, r := range text {
		if n += render.RuneCells(r); n > cells {
			return text[:max(i-1, 0)] + "…"
		}
	}
	return text
}
