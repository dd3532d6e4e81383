package tty

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/output/render"
)

// This file draws the edited text. After a key the whole text is written again, except after a
// character at the end, the most frequent case, where only the character is written. Lines that
// are longer than the terminal is wide are broken here, because terminals behave differently
// after a character in the last cell.

// A drawing records how the text is drawn on the terminal, and where the cursor
// is.
type drawing struct {
	rows       int // number of rows that the text takes
	row, col   int // of the cursor, within these rows
	width      int // of the terminal
	stale      bool
	aboveFirst string // replaces the prompt while the history is searched; else ""
}

// A layout is the text broken into rows of the terminal.
type layout struct {
	rows     []string
	row, col int // of the cursor
}

// lay breaks a text with the cursor at pos into rows of width cells.
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

// shownAs returns the text that shows a character in a column of its line. Control characters
// are replaced, since they must not reach the terminal.
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

// draw writes the text if it has changed since it was drawn.
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
	// A text with more rows than the terminal is shown in part.
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

// top appends the sequence that moves the cursor to the first cell of the drawn
// text.
func (e *Editor) top(b []byte) []byte {
	if e.drawn.row > 0 {
		b = fmt.Appendf(b, "\x1b[%dA", e.drawn.row)
	}
	return append(b, '\r')
}

// typed writes a character that was typed at the end. In other cases it marks
// the drawing as stale.
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

// below moves the cursor to a new line after the text.
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

// list writes words in columns below the text, and has the text drawn again
// below them.
func (e *Editor) list(words []string) error {
	width, height := e.term.size()
	pos := e.text.pos
	if err := e.below(); err != nil {
		return err
	}
	e.text.pos, e.drawn.stale = pos, true
	return e.term.write([]byte(columns(words, width, max(height-4, 4))))
}

// columns formats words in columns, with at most rows rows.
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
