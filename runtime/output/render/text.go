package render

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// textRenderer writes text for people, in the layout of perf-prof.
type textRenderer struct {
	*sink
	line  lineOptions
	grid  grid
	width int
	color bool

	terminal func() int // returns the current width; nil if the output is no terminal
	// rows is the log whose header was written last, if only rows of it followed; else
	// nil.
	rows *result.Rows
}

// Colours are SGR sequences; they are written only around escaped text.
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	normal = "\x1b[0m"
)

// Show writes a result of any shape.
func (r *textRenderer) Show(x result.Result) error {
	if l, ok := x.(*result.Line); !ok || l.Rows == nil {
		r.rows = nil
	}
	switch x := x.(type) {
	case *result.Table:
		return r.table(x)
	case *result.Stacks:
		return r.stacks(x)
	case *result.Why:
		return r.why(x)
	case *result.Detail:
		return r.detail(x)
	case *result.Line:
		return r.event(x)
	case *result.Text:
		return r.print(x.Bytes)
	}
	if err := Walk(x, r.Show); err != nil {
		return err
	}
	return r.err
}

// table writes date and title, header, rule, rows, and a line about
// missing rows and losses. A table without rows is not written, unless
// something was lost.
func (r *textRenderer) table(t *result.Table) error {
	if at := t.Histogram(); at >= 0 {
		return r.histogram(t, at)
	}
	t = pivoted(t)
	grid := t.Layout.Grid
	if len(t.Rows) == 0 && t.Omitted == 0 && t.Silent() && !grid {
		return r.err
	}
	if !t.Layout.NoDate {
		r.heading(&t.Meta, grid)
	}
	if len(t.Rows) > 0 || grid {
		switch {
		case r.fits(t.Layout.Packed):
			r.buf = append(plain.AppendLines(r.buf, t.Layout.Packed), '\n')
		case t.Layout.RowText != nil:
			r.rowTexts(t)
		default:
			r.grid.fill(withoutEmptyMargins(t), &r.line)
			r.buf = r.grid.append(r.buf, &t.Layout, r.color)
		}
	}
	r.missing(&t.Meta, len(t.Rows), t.Omitted, "row")
	if grid {
		r.buf = append(r.buf, '\n')
	}
	return r.spill()
}

// fits reports whether the terminal is wide enough for a packed table. The
// width is read each time, since users resize terminals.
func (r *textRenderer) fits(packed string) bool {
	if packed == "" || r.terminal == nil {
		return false
	}
	width := r.terminal()
	for line := range strings.Lines(packed) {
		if cells([]byte(strings.TrimSuffix(line, "\n"))) > width {
			return false
		}
	}
	return true
}

// rowTexts writes rows by Layout.RowText.
func (r *textRenderer) rowTexts(t *result.Table) {
	if t.Layout.HeaderText != "" && !t.Layout.NoHeader {
		r.buf = append(plain.AppendLines(r.buf, t.Layout.HeaderText), '\n')
	}
	for _, row := range t.Rows {
		// Several rows may share one line; the others have "".
		if line := t.Layout.RowText(row); line != "" {
			r.buf = append(plain.AppendLines(r.buf, line), '\n')
		}
	}
}

// heading writes "DATE TITLE", or the title below the date.
func (r *textRenderer) heading(m *result.Meta, apart bool) {
	r.buf = r.line.stamp.appendMoment(r.buf, m.End, m.Wall, &r.line)
	if m.Title != "" {
		sep := byte(' ')
		if apart {
			sep = '\n'
		}
		r.buf = plain.AppendLines(append(r.buf, sep), m.Title)
	}
	r.buf = append(r.buf, '\n')
}

// missing writes how many rows are not shown, how many events were lost or left out, and the
// cost.
func (r *textRenderer) missing(m *result.Meta, shown, omitted int, what string) {
	if omitted > 0 {
		r.buf = strconv.AppendInt(append(r.buf, '('), int64(omitted), 10)
		r.buf = append(append(r.buf, " more "...), what...)
		if omitted > 1 {
			r.buf = append(r.buf, 's')
		}
		r.buf = append(r.buf, ")\n"...)
	}
	if !m.Loss.Zero() {
		if r.color {
			r.buf = append(r.buf, yellow...)
		}
		r.buf = appendLoss(r.buf, &m.Loss)
		if r.color {
			r.buf = append(r.buf, normal...)
		}
		r.buf = append(r.buf, '\n')
	}
	if m.Cost.Sampled() {
		r.buf = append(appendSampled(r.buf, m.Cost, shown+omitted > 0), '\n')
	}
	if m.Cost != nil && m.Cost.Visible {
		r.buf = append(appendCost(r.buf, m.Cost), '\n')
	}
}

// event writes one line, and the frames of its stack below it.
func (r *textRenderer) event(l *result.Line) error {
	r.line.Marker, r.line.Prefix = l.Marker, l.Prefix
	if l.Rows != nil {
		return r.row(l)
	}
	if l.Layout != nil {
		return r.fieldLine(l)
	}
	if l.Heading != "" {
		r.buf = append(appendHeading(r.buf, l, &r.line), '\n')
		for i := range l.Parts {
			if err := r.event(&l.Parts[i]); err != nil {
				return err
			}
		}
		return r.spill()
	}
	if l.Text == "" {
		r.buf = append(appendEventLine(r.buf, l.Event, &r.line), '\n')
	} else {
		first, below, _ := strings.Cut(l.Text, "\n")
		r.buf = append(plain.Append(appendEventName(r.buf, l.Event, &r.line), first), '\n')
		for line := range strings.Lines(below) {
			r.below([]byte(line))
		}
	}
	return r.behind(l)
}

// row writes a row of columns, and a header before it if the last output was no
// row of the same log.
func (r *textRenderer) row(l *result.Line) error {
	t := &result.Table{Columns: l.Rows.Columns, Layout: l.Rows.Layout}
	if r.rows != l.Rows {
		r.rows = l.Rows
		r.grid.fill(t, &r.line)
		r.buf = r.grid.append(r.buf, &t.Layout, r.color)
	}
	t.Layout.NoHeader = true
	t.Rows = [][]event.Value{l.Cells}
	r.grid.fill(t, &r.line)
	r.buf = r.grid.append(r.buf, &t.Layout, r.color)
	return r.behind(l)
}

// behind writes the block and the stacks of an event below its line or row.
func (r *textRenderer) behind(l *result.Line) error {
	for line := range bytes.Lines(l.Block) {
		r.below(line)
	}
	r.buf = appendFrameLines(r.buf, l.CallStack)
	for i := range l.More {
		s := &l.More[i]
		r.buf = append(plain.Append(append(r.buf, "  "...), s.Name), ":\n"...)
		r.buf = appendFrameLines(r.buf, s.CallStack)
	}
	return r.spill()
}

// below writes a line that belongs to the event above it.
func (r *textRenderer) below(line []byte) {
	r.buf = append(r.buf, "    "...)
	from := len(r.buf)
	r.buf = append(plain.Tail(append(r.buf, bytes.TrimRight(line, "\n")...), from), '\n')
}

// Note writes "kind: name=value".
func (r *textRenderer) Note(kind string, fields ...NoteField) error {
	return r.note("", "\n", appendNote(nil, kind, fields))
}

// grid lays out a table. All cells are formatted first, because a column is as
// wide as its widest cell. It is reused for all tables.
type grid struct {
	text  []byte // escaped cells, the header first
	ends  []int  // where each cell ends in text
	alarm []bool
	cols  []gridColumn
}

type gridColumn struct {
	left  bool
	width int
	sep   string
	// below says that the cells are stacks, and one is wider than wideStack: they are written below
	// their row, one frame per line.
	below  bool
	widest int // width of the widest cell
}

// wideStack is the largest width, in terminal cells, of a stack that is shown
// within its row.
const wideStack = 60

// fill formats the header and the cells, and computes the widths.
func (g *grid) fill(t *result.Table, o *lineOptions) {
	g.text, g.ends, g.alarm, g.cols = g.text[:0], g.ends[:0], g.alarm[:0], g.cols[:0]
	for i := range t.Columns {
		c := &t.Columns[i]
		width := c.Width
		if c.ShareOf != "" {
			width = max(width, len("     0 (  0%)"))
		}
		sep := cmp.Or(c.Sep, " ")
		if t.Layout.Grid {
			sep = " | "
		}
		if i == 0 {
			sep = ""
		}
		g.cols = append(g.cols, gridColumn{c.Left, width, string(plain.Append(nil, sep)),
			c.Type == result.StackNumbers && !t.Layout.Grid, 0})
		g.header(i, c, &t.Layout)
	}
	of := shareOf(t.Columns)
	for _, row := range t.Rows {
		for i := range t.Columns {
			c, v := &t.Columns[i], cellOf(row, i)
			start := len(g.text)
			g.text = appendCell(g.text, c, v, cellOf(row, of[i]), o)
			g.add(i, start, c.Alarm && v.Numeric() && v.Bool())
		}
	}
	for i := range g.cols {
		if c := &g.cols[i]; c.widest <= wideStack {
			c.below = false
		}
		if c := &g.cols[i]; !c.below {
			c.width = max(c.width, c.widest)
		}
	}
}

func (g *grid) header(i int, c *result.Column, l *result.Layout) {
	start := len(g.text)
	if l.NoHeader {
		return
	}
	title := c.Title()
	if l.Upper {
		name := len(c.Name) // the unit is not changed
		if c.Head != "" {
			head, _, _ := strings.Cut(c.Head, "(")
			name = len(head)
		}
		title = upper(title[:name]) + title[name:]
	}
	g.text = append(g.text, title...)
	g.add(i, start, false)
	g.cols[i].width = max(g.cols[i].width, g.cols[i].widest)
}

// add ends the cell that starts at start.
func (g *grid) add(col, start int, alarm bool) {
	g.text = plain.Tail(g.text, start)
	g.ends = append(g.ends, len(g.text))
	g.alarm = append(g.alarm, alarm)
	c, n := &g.cols[col], cells(g.text[start:])
	if c.widest = max(c.widest, n); !c.below {
		c.width = max(c.width, n)
	}
}

// append writes the filled grid. Blanks at the ends of lines are left out.
func (g *grid) append(dst []byte, l *result.Layout, color bool) []byte {
	n, start := len(g.cols), 0
	if n == 0 {
		return dst
	}
	var below []byte // the stacks of the row
	for i := range g.ends {
		col := i % n
		c, cell := &g.cols[col], g.text[start:g.ends[i]]
		start = g.ends[i]
		if header := i < n && !l.NoHeader; c.below && !header {
			below = appendFramesBelow(below, cell)
			cell = nil
		}
		dst = append(dst, c.sep...)
		pad := c.width - cells(cell)
		if !c.left {
			dst = appendPad(dst, pad)
		}
		if color && g.alarm[i] {
			dst = append(append(append(dst, red...), cell...), normal...)
		} else {
			dst = append(dst, cell...)
		}
		if c.left {
			dst = appendPad(dst, pad)
		}
		if col == n-1 {
			dst = append(append(trimBlanks(dst), '\n'), below...)
			below = below[:0]
			if i == n-1 && !l.NoHeader && !l.NoRule {
				dst = g.rule(dst, l.Grid)
			}
		}
	}
	return dst
}

// appendFramesBelow appends the frames of a folded stack as lines, the innermost first.
func appendFramesBelow(dst, stack []byte) []byte {
	for len(stack) > 0 {
		i := bytes.LastIndexByte(stack, ';')
		dst = append(append(append(dst, "    "...), stack[i+1:]...), '\n')
		stack = stack[:max(i, 0)]
	}
	return dst
}

// rule writes the dashes under the header.
func (g *grid) rule(dst []byte, crossed bool) []byte {
	for i := range g.cols {
		if crossed && i > 0 {
			dst = append(dst, "-+-"...)
		} else {
			dst = appendPad(dst, cells([]byte(g.cols[i].sep)))
		}
		for range g.cols[i].width {
			dst = append(dst, '-')
		}
	}
	return append(dst, '\n')
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// upper converts to upper case in ASCII only, so that names keep their lengths.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// wallOf returns the wall-clock time of a result, zero if it is unknown.
func wallOf(m *result.Meta, clock func(event.Time) time.Time) time.Time {
	if m.Wall.IsZero() && clock != nil && m.End != 0 {
		return clock(m.End)
	}
	return m.Wall
}
