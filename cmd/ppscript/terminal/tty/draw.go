package tty

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/output/render"
)

// This file draws the text that is edited. The whole of it is written anew after a key, except
// for a character at the end, which is most of them. Lines that are longer than the terminal are
// broken here: terminals do not agree on what a character in the last cell does.

// A drawing is what is on the terminal of the text, and where the cursor is.
type drawing struct {
	rows       int // of cells
	row, col   int // of the cursor, in these rows
	width      int // of the terminal
	stale      bool
	aboveFirst string // in place of the prompt, while history is searched; "" if it is not
}

// A layout is the text as rows of cells.
type layout struct {
	rows     []string
	row, col int // of the cursor
}

// lay breaks the text into rows.
func lay(prompt, more string, runes []rune, pos, width int) layout {
	var l layout
	var row strings.Builder
	col := 0
	begin := func(prompt string) {
		row.WriteString(prompt)
		col += cellsOf(prompt)
	}
	end := func() {
		l.rows = append(l.rows, row.String())
		row.Reset()
		col = 0
	}
	begin(prompt)
	from := col
	for i := 0; ; i++ {
		if col >= width {
			end()
			from = 0
		}
		if i == pos {
			l.row, l.col = len(l.rows), col
		}
		if i >= len(runes) {
			break
		}
		if runes[i] == '\n' {
			end()
			begin(more)
			from = col
			continue
		}
		shown := shownAs(runes[i], col-from)
		n := cellsOf(shown)
		if col+n > width && col > 0 {
			end()
			from = 0
			if i == pos {
				l.row, l.col = len(l.rows), 0
			}
		}
		row.WriteString(shown)
		col += n
	}
	end()
	return l
}

// shownAs is how a character is shown, in a column of its line: others than characters must not
// reach the terminal as they are.
func shownAs(r rune, column int) string {
	switch {
	case r == '\t':
		return "    "[:indentStep-column%indentStep]
	case r < 0x20:
		return "^" + string(r|0x40)
	case r == 0x7f:
		return "^?"
	case r >= 0x80 && r < 0xa0, r == 0x2028, r == 0x2029:
		return "?"
	}
	return string(r)
}

func cellsOf(s string) int {
	n := 0
	for _, r := range s {
		n += render.RuneCells(r)
	}
	return n
}

// draw shows the text.
func (e *Editor) draw() error {
	if !e.drawn.stale {
		return nil
	}
	width, height := e.term.size()
	prompt := e.Prompt
	if e.drawn.aboveFirst != "" {
		prompt = e.drawn.aboveFirst
	}
	l := lay(prompt, e.More, e.text.runes, e.text.pos, width)
	// A text that is higher than the terminal is shown in part.
	if top := max(l.row-height+1, 0); len(l.rows) > height {
		l.rows, l.row = l.rows[top:min(top+height, len(l.rows))], l.row-top
	}
	b := e.top(nil)
	b = append(b, "\x1b[J"...)
	b = append(b, strings.Join(l.rows, "\r\n")...)
	if e.text.pos < len(e.text.runes) {
		if up := len(l.rows) - 1 - l.row; up > 0 {
			b = fmt.Appendf(b, "\x1b[%dA", up)
		}
		b = append(b, '\r')
		if l.col > 0 {
			b = fmt.Appendf(b, "\x1b[%dC", l.col)
		}
	}
	e.drawn.rows, e.drawn.row, e.drawn.col, e.drawn.width = len(l.rows), l.row, l.col, width
	e.drawn.stale = false
	return e.term.write(b)
}

// top moves to the first cell of what is shown.
func (e *Editor) top(b []byte) []byte {
	if e.drawn.row > 0 {
		b = fmt.Appendf(b, "\x1b[%dA", e.drawn.row)
	}
	return append(b, '\r')
}

// typed shows a character behind the end: only that.
func (e *Editor) typed(r rune) error {
	n := render.RuneCells(r)
	if e.drawn.stale || e.text.pos != len(e.text.runes) || n != 1 || shownAs(r, 0) != string(r) ||
		e.drawn.col+n >= e.drawn.width {
		e.drawn.stale = true
		return nil
	}
	e.drawn.col += n
	return e.term.write([]byte(string(r)))
}

// below moves behind the text, to a line of its own.
func (e *Editor) below() error {
	if e.text.pos != len(e.text.runes) {
		e.text.pos, e.drawn.stale = len(e.text.runes), true
	}
	if err := e.draw(); err != nil {
		return err
	}
	e.drawn = drawing{}
	return e.term.write([]byte("\r\n"))
}

// list shows words in columns below the text, which is drawn anew below them.
func (e *Editor) list(words []string) error {
	width, height := e.term.size()
	pos := e.text.pos
	if err := e.below(); err != nil {
		return err
	}
	e.text.pos, e.drawn.stale = pos, true
	return e.term.write([]byte(columns(words, width, max(height-4, 4))))
}

// columns is words in columns, in as many rows as there are at most.
func columns(words []string, width, rows int) string {
	// Parameters of the call that is typed come first.
	var last []string
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		if !strings.HasSuffix(w, " = ") {
			last = append(last, w)
			return true
		}
		return false
	})
	words = append(words, last...)
	wide := 1
	for _, w := range words {
		wide = max(wide, cellsOf(w)+2)
	}
	wide = min(wide, width)
	across := max(width/wide, 1)
	more := len(words) - across*rows
	if more > 0 {
		words = words[:across*rows]
	}
	down := (len(words) + across - 1) / across
	var b strings.Builder
	for row := range down {
		line := ""
		for i := row; i < len(words); i += down {
			line += words[i] + strings.Repeat(" ", max(wide-cellsOf(words[i]), 0))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\r\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "... and %d more\r\n", more)
	}
	return b.String()
}
