package render

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file draws a table over the previous one in a terminal. A frame is one
// drawing of the whole screen. It starts at the first cell, overwrites every
// line to its end and clears the lines below, so that nothing flickers and
// nothing of the last frame stays. A frame is written by one call.
//
//	top - 17:03:22  sample 82 events                                every 1s
//	     PID      RUNTIME COMM           (inverse)
//	    3499     17600217 db
//	q quit  p pause  < > sort: RUNTIME  r reverse  arrows scroll     1-20 of 57

// A Screen draws frames.
type Screen struct {
	text  textRenderer
	lines [][]byte
}

// A ScreenView is the size of the terminal and the user's choices: sorting,
// scrolling, pause.
type ScreenView struct {
	Width, Height int
	Name          string // of the script
	Every         string // time between frames
	Sort          string // column; "" is the order of the table
	Reverse       bool
	From          int // index of the first row that is shown
	Paused        bool
	Message       string // shown instead of the help if not empty
}

// Control sequences of the VT100 and of xterm.
const (
	inverse   = "\x1b[7m"
	bold      = "\x1b[1m"
	underline = "\x1b[4m"
	home      = "\x1b[H"
	toEOL     = "\x1b[K"
	toEnd     = "\x1b[J"

	// EnterScreen switches to the alternate screen, hides the cursor and
	// disables the wrapping of long lines; LeaveScreen reverses that.
	EnterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	LeaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// NewScreen makes a Screen with the time options of o.
func NewScreen(o Options) *Screen {
	s := &Screen{text: textRenderer{
		sink: &sink{},
		line: lineOptions{Time: o.Time, Clock: o.Clock, Start: o.Start, Location: o.Location},
	}}
	s.text.width = 80
	return s
}

// Frame appends the frame that shows t to dst; t is nil before the first table.
// It bounds v.From by the number of rows.
func (s *Screen) Frame(dst []byte, t *result.Table, v *ScreenView) []byte {
	dst = append(dst, home...)
	if v.Height < 3 || v.Width < 10 {
		return append(append(dst, cutCells([]byte("too small"), v.Width)...), toEnd...)
	}
	header, rows := s.layout(t, v)
	room := v.Height - 3
	v.From = max(0, min(v.From, len(rows)-room))
	shown := rows[min(v.From, len(rows)):min(len(rows), v.From+room)]

	dst = s.line(dst, s.heading(t, v), v.Width)
	dst = s.inverse(dst, t, header, v)
	for _, row := range shown {
		dst = s.line(dst, row, v.Width)
	}
	for range room - len(shown) {
		dst = s.line(dst, nil, v.Width)
	}
	return s.help(dst, t, v, len(shown), len(rows))
}

// layout makes the lines of the table, the header first.
func (s *Screen) layout(t *result.Table, v *ScreenView) (header []byte, rows [][]byte) {
	if t == nil {
		return nil, nil
	}
	table := *t
	table.Rows = slices.Clone(t.Rows)
	table.Layout.NoRule = true
	if v.Sort != "" {
		// If the table no longer has the column, the order is unchanged.
		_ = table.Sort(v.Sort, v.Reverse)
	} else if v.Reverse {
		slices.Reverse(table.Rows)
	}
	r := &s.text
	r.buf = r.buf[:0]
	headed := !table.Layout.NoHeader
	if table.Layout.RowText != nil {
		headed = headed && table.Layout.HeaderText != ""
		r.rowTexts(&table)
	} else {
		r.grid.fill(&table, &r.line)
		r.buf = r.grid.append(r.buf, &table.Layout, false)
	}
	s.lines = s.lines[:0]
	for line := range bytes.Lines(r.buf) {
		s.lines = append(s.lines, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	if headed && len(s.lines) > 0 {
		return s.lines[0], s.lines[1:]
	}
	return nil, s.lines
}

// heading returns the first line: the script's name, the time and the losses.
func (s *Screen) heading(t *result.Table, v *ScreenView) []byte {
	line := plain.Append(nil, v.Name)
	if t == nil {
		line = append(line, " - waiting for the first interval"...)
	} else {
		if w := wallOf(&t.Meta, s.text.line.Clock); !w.IsZero() {
			if s.text.line.Location != nil {
				w = w.In(s.text.line.Location)
			}
			line = w.AppendFormat(append(line, " - "...), "15:04:05")
		}
		if t.Title != "" {
			line = plain.Append(append(line, "  "...), strings.ReplaceAll(t.Title, "\n", " "))
		}
		if !t.Loss.Zero() {
			line = appendLoss(append(line, "  "...), &t.Loss)
		}
		if t.Cost.Sampled() {
			line = appendLeftOut(append(line, "  "...), t.Cost)
		}
	}
	right := "every " + v.Every
	if v.Paused {
		right = "paused"
	}
	return apart(line, right, v.Width)
}

// apart puts two texts at the ends of a line, or only the left one if both do
// not fit.
func apart(left []byte, right string, width int) []byte {
	pad := width - cells(left) - len(right)
	if pad < 2 || right == "" {
		return left
	}
	return append(appendPad(left, pad), right...)
}

// line appends a line of the frame.
func (s *Screen) line(dst, text []byte, width int) []byte {
	return append(append(dst, cutCells(text, width)...), toEOL+"\r\n"...)
}

// inverse writes the header in inverse video over the whole width, and
// underlines the title of the column that rows are sorted by.
func (s *Screen) inverse(dst []byte, t *result.Table, header []byte, v *ScreenView) []byte {
	header = cutCells(header, v.Width)
	pad := v.Width - cells(header)
	dst = append(dst, inverse...)
	if from, to := titleOf(t, header, v.Sort); to > 0 {
		dst = append(dst, header[:from]...)
		dst = append(append(append(dst, underline...), header[from:to]...), normal+inverse...)
		header = header[to:]
	}
	dst = appendPad(append(dst, header...), pad)
	return append(dst, normal+toEOL+"\r\n"...)
}

// titleOf returns the position of a column's title in the header.
func titleOf(t *result.Table, header []byte, column string) (from, to int) {
	if t == nil || column == "" {
		return 0, 0
	}
	at := 0
	for i := range t.Columns {
		title := t.Columns[i].Title()
		if t.Layout.Upper {
			title = upper(t.Columns[i].Name) + title[len(t.Columns[i].Name):]
		}
		clean := plain.Append(nil, title)
		n := bytes.Index(header[at:], clean)
		if n < 0 {
			return 0, 0
		}
		if t.Columns[i].Name == column {
			return at + n, at + n + len(clean)
		}
		at += n + len(clean)
	}
	return 0, 0
}

// help writes the last line, which has no line end.
func (s *Screen) help(dst []byte, t *result.Table, v *ScreenView, shown, all int) []byte {
	var keys, texts []string
	add := func(key, text string) { keys, texts = append(keys, key), append(texts, text) }
	add("q", "quit")
	add("p", map[bool]string{false: "pause", true: "go on"}[v.Paused])
	by := v.Sort
	if by == "" {
		by = "as given"
	}
	add("< >", "sort: "+string(plain.Append(nil, by)))
	add("r", "reverse")
	right := ""
	if all > shown {
		right = fmt.Sprintf("%d-%d of %d", v.From+1, v.From+shown, all)
		add("arrows", "scroll")
	} else if t != nil && t.Omitted > 0 {
		right = strconv.Itoa(t.Omitted) + " more rows"
	}
	if v.Message != "" {
		return append(append(dst, apart(cutCells(plain.Append(nil, v.Message), v.Width), right, v.Width)...),
			toEOL+toEnd...)
	}
	width, room := 0, v.Width
	if right != "" {
		room -= len(right) + 2
	}
	for i := range keys {
		n := len(keys[i]) + 1 + utf8.RuneCountInString(texts[i])
		if i > 0 {
			n += 2
		}
		if width+n > room {
			break
		}
		if i > 0 {
			dst = append(dst, "  "...)
		}
		dst = append(append(append(dst, bold...), keys[i]...), normal...)
		dst = append(append(dst, ' '), texts[i]...)
		width += n
	}
	if right != "" && room >= width {
		dst = append(appendPad(dst, v.Width-width-len(right)), right...)
	}
	return append(dst, toEOL+toEnd...)
}

// cutCells returns the begin of a text that fits into so many cells. The text must not contain
// control sequences.
func cutCells(text []byte, width int) []byte {
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if n += RuneCells(r); n > width {
			return text[:i]
		}
		i += size
	}
	return text
}
