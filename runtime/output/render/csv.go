package render

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// csvRenderer writes RFC 4180. Every line starts with the time and the name of
// the result. The header comes before the first line, and again when another
// result with other columns follows. Its names are unique. Numbers are in the
// unit of the header with all their digits; control characters are escaped, so
// that a row is always one line. docs/formats.md describes the format.
type csvRenderer struct {
	*sink
	line    lineOptions
	header  []string   // of the last row
	events  bool       // header is for events
	stacks  bool       // header has a column for stacks
	prev    event.Time // time of the last line, for mode delta
	seen    bool
	scratch []byte
	rows    *result.Rows // the last header is of these rows
}

const csvEOL = "\r\n"

// Show writes a line for each row, bucket, stack or event; a text is a comment.
func (r *csvRenderer) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Table:
		if x.Histogram() < 0 {
			return r.table(x)
		}
	case *result.Line:
		return r.event(x)
	case *result.Text:
		return r.print(x.Bytes)
	case *result.Why:
		return r.why(x)
	}
	if err := Walk(x, r.Show); err != nil {
		return err
	}
	return r.err
}

func (r *csvRenderer) table(t *result.Table) error {
	if len(t.Rows) > 0 {
		lead := r.titles(t.Wall)
		r.head(append(lead, csvTitles(t.Columns, t.Rows, r.line.dates(time.Time{}), leadNames...)...))
	}
	when := r.moment(&t.Meta, len(t.Rows) > 0)
	for _, row := range t.Rows {
		r.lead(when, t.Name)
		r.cells(t.Columns, row)
		r.buf = append(r.buf, csvEOL...)
	}
	return r.noteMissing("# ", csvEOL, &t.Meta, len(t.Rows), t.Omitted)
}

// event writes the thread, the CPU, the event, and all fields as one text, since
// kinds of events have different fields. JSON has separate fields.
func (r *csvRenderer) event(l *result.Line) error {
	e := l.Event
	if l.Rows != nil {
		return r.row(l)
	}
	s := r.line.of(e)
	if !r.events {
		head := append(r.titles(time.Time{}), "comm", "pid", "tid", "cpu", "event", "text")
		if l.Stacks {
			head = append(head, "stack")
		}
		r.head(head)
		r.events, r.stacks = true, l.Stacks
	}
	r.scratch = r.appendMoment(r.scratch[:0], e.Time, time.Time{})
	r.buf = append(r.buf, r.scratch...)
	r.buf = appendCSV(append(r.buf, ','), l.LogName())
	r.scratch = appendComm(r.scratch[:0], e)
	r.text(r.scratch)
	for _, n := range []int32{e.PID, e.TID, e.CPU} {
		r.buf = strconv.AppendInt(append(r.buf, ','), int64(n), 10)
	}
	r.scratch = appendTitle(r.scratch[:0], e, s)
	r.text(r.scratch)
	r.scratch = appendFieldText(r.scratch[:0], e, s)
	r.text(r.scratch)
	if r.stacks {
		r.buf = appendCSV(append(r.buf, ','), StackText(l.Frames))
	}
	r.buf = append(r.buf, csvEOL...)
	return r.spill()
}

// row writes an event of a log that is shown as rows of columns.
func (r *csvRenderer) row(l *result.Line) error {
	if r.rows != l.Rows {
		titles := csvTitles(l.Rows.Columns, [][]event.Value{l.Cells}, r.line.dates(time.Time{}), leadNames...)
		head := append(r.titles(time.Time{}), titles...)
		if l.Stacks {
			head = append(head, "stack")
		}
		r.head(head)
		r.rows = l.Rows
	}
	r.scratch = r.appendMoment(r.scratch[:0], l.Event.Time, time.Time{})
	r.lead(string(r.scratch), l.LogName())
	r.cells(l.Rows.Columns, l.Cells)
	if l.Stacks {
		r.buf = appendCSV(append(r.buf, ','), StackText(l.Frames))
	}
	r.buf = append(r.buf, csvEOL...)
	return r.spill()
}

// Note writes "kind: name=value" to Options.Notes, or as a comment line if that
// is nil.
func (r *csvRenderer) Note(kind string, fields ...NoteField) error {
	return r.note("# ", csvEOL, appendNote(nil, kind, fields))
}

// leadNames are the first columns of all lines.
var leadNames = []string{"time", "result"}

// titles returns the headers of the first columns; the time is a date, or
// seconds.
func (r *csvRenderer) titles(wall time.Time) []string {
	titles := slices.Clone(leadNames)
	if !r.line.dates(wall) {
		titles[0] += "(s)"
	}
	return titles
}

// moment returns the time of a result, the first cell of its rows.
func (r *csvRenderer) moment(m *result.Meta, needed bool) string {
	if !needed {
		return ""
	}
	return string(r.appendMoment(nil, m.End, m.Wall))
}

// appendMoment appends the time of a line.
func (r *csvRenderer) appendMoment(dst []byte, t event.Time, wall time.Time) []byte {
	if r.line.Time != "delta" {
		return appendExactMoment(dst, t, wall, &r.line)
	}
	d := t - r.prev
	if !r.seen {
		d = 0
	}
	r.prev, r.seen = t, true
	return appendFixed(dst, event.IntOf(int64(d)), 9)
}

func (r *csvRenderer) head(header []string) {
	if slices.Equal(r.header, header) {
		return
	}
	r.header, r.events, r.rows = header, false, nil
	for i, name := range header {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = appendCSV(r.buf, name)
	}
	r.buf = append(r.buf, csvEOL...)
}

func (r *csvRenderer) lead(when, name string) {
	r.buf = appendCSV(r.buf, when)
	r.buf = appendCSV(append(r.buf, ','), name)
}

func (r *csvRenderer) text(s []byte) {
	r.buf = appendCSV(append(r.buf, ','), s)
}

func (r *csvRenderer) cells(columns []result.Column, row []event.Value) {
	for i := range columns {
		r.scratch = appendCSVCell(r.scratch[:0], &columns[i], cellOf(row, i), &r.line)
		r.text(r.scratch)
	}
}

// appendCSVCell appends a cell in the unit of its header. The members of a list
// are separated by blanks.
func appendCSVCell(dst []byte, c *result.Column, v event.Value, o *lineOptions) []byte {
	if name, ok := nameIn(c, v); ok {
		return append(dst, name...)
	}
	switch {
	case c.Text != nil && !c.Shape:
		return append(dst, c.Text(v)...)
	case c.Hex && v.Numeric():
		return strconv.AppendUint(append(dst, "0x"...), v.Uint(), 16)
	case v.Kind == event.TimeValue && c.Unit.Scale == 0:
		return appendExactMoment(dst, event.Time(v.Int()), time.Time{}, o)
	case v.Kind == event.ListValue:
		for i, m := range v.List() {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = appendCSVCell(dst, c, m, o)
		}
		return dst
	case v.Numeric() && v.Kind != event.BoolValue:
		return appendExact(dst, v, c.Unit)
	}
	return append(dst, v.String()...)
}

// appendExact appends a number in u with all its decimals.
func appendExact(dst []byte, v event.Value, u unit.Unit) []byte {
	scale := u.Scale
	if scale == 0 {
		scale = 1
	}
	if v.Kind == event.FloatValue {
		return strconv.AppendFloat(dst, v.Float()/scale, 'f', -1, 64)
	}
	// Decimal scales stay exact beyond the 53 bits of a double.
	for prec := 0; prec <= 9; prec++ {
		if scale == math.Pow10(prec) {
			return trimZeros(appendFixed(dst, v, prec), prec)
		}
	}
	return strconv.AppendFloat(dst, v.Float()/scale, 'f', -1, 64)
}

// trimZeros removes zeros from the end of a number with prec decimals.
func trimZeros(b []byte, prec int) []byte {
	if prec == 0 {
		return b
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	if b[len(b)-1] == '.' {
		b = b[:len(b)-1]
	}
	return b
}

// formula reports whether a spreadsheet could take a field for a formula.
// Leading tabs and line ends, which some spreadsheets skip, are already
// escaped.
func formula(field []byte) bool {
	if len(field) < 2 || field[0] != '=' && field[0] != '+' && field[0] != '-' && field[0] != '@' {
		return false
	}
	_, err := strconv.ParseFloat(string(field), 64)
	return err != nil
}

// appendCSV appends an escaped field, quoted if RFC 4180 requires it, or if it
// begins with '#', which readers take for a comment. An apostrophe is put
// before text that a spreadsheet would take for a formula, since the names of
// threads and files come from untrusted users.
func appendCSV[S string | []byte](dst []byte, s S) []byte {
	from := len(dst)
	dst = plain.Tail(append(dst, s...), from)
	if formula(dst[from:]) {
		dst = slices.Insert(dst, from, '\'')
	}
	field := dst[from:]
	if len(field) == 0 || bytes.IndexByte(field, ',') < 0 && bytes.IndexByte(field, '"') < 0 &&
		field[0] != '#' && field[0] != ' ' && field[len(field)-1] != ' ' {
		return dst
	}
	text := string(field)
	dst = append(dst[:from], '"')
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}
