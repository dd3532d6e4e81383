package c

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/text/diag"
)

// Errorf makes the error for a mistake at byte offset pos of src: the
// column in the cause, the line and a caret in the excerpt.
func Errorf(src string, pos int, format string, args ...any) *diag.Error {
	pos = min(max(pos, 0), len(src))
	line, col := src, pos
	if i := strings.LastIndexByte(src[:pos], '\n'); i >= 0 {
		line, col = src[i+1:], pos-i-1
	}
	if i := strings.IndexByte(line[col:], '\n'); i >= 0 {
		line = line[:col+i]
	}
	// Long lines (the print fmt of some tracepoints has 40 KB) are cut to
	// the text around the caret.
	before, after := line[:col], line[col:]
	head, tail := "", ""
	if len(before) > 60 {
		cut := len(before) - 57
		for cut < len(before) && !utf8.RuneStart(before[cut]) {
			cut++
		}
		head, before = "...", before[cut:]
	}
	if len(after) > 60 {
		cut := 57
		for cut > 0 && !utf8.RuneStart(after[cut]) {
			cut--
		}
		tail, after = "...", after[:cut]
	}
	pad := make([]byte, 0, 64)
	for _, r := range head + before {
		if r == '\t' {
			pad = append(pad, '\t')
		} else {
			pad = append(pad, ' ')
		}
	}
	e := diag.Errorf(diag.Usage, "expression", subject(src), "column %d: %w",
		utf8.RuneCountInString(line[:col])+1, fmt.Errorf(format, args...))
	e.Excerpt = "    " + head + before + after + tail + "\n    " + string(pad) + "^"
	return e
}

// subject is the expression itself if it fits a line.
func subject(src string) string {
	src = strings.Join(strings.Fields(src), " ")
	if len(src) > 48 {
		cut := 45
		for cut > 0 && !utf8.RuneStart(src[cut]) {
			cut--
		}
		src = src[:cut] + "..."
	}
	return "'" + src + "'"
}
