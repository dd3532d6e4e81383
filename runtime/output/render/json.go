package render

import (
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file writes JSON: one object for each line, {"v":1,"type":T,"data":D}.
// Numbers are in their base units. If text shows a number in another form, the
// member NAME_text beside it has that form. docs/formats.md describes all
// records and their members.

type jsonRenderer struct {
	*sink
	line    lineOptions
	scratch []byte
	page    bool // Options.Page
	// open says that a record is begun. Cells get their names while they are written, and an error
	// in that makes a note. later holds the records of such notes until the begun record ends.
	open  bool
	later []byte
}

func (r *jsonRenderer) begin(kind string) {
	r.open = true
	r.buf = beginJSON(r.buf, kind)
}

func beginJSON(dst []byte, kind string) []byte {
	dst = append(dst, `{"v":1,"type":`...)
	dst = appendJSONString(dst, kind)
	return append(dst, `,"data":{`...)
}

const endJSON = "}}\n"

func (r *jsonRenderer) end() error {
	r.open = false
	r.buf = append(append(r.buf, endJSON...), r.later...)
	r.later = r.later[:0]
	return r.spill()
}

// Show writes a record of the shape's own type.
func (r *jsonRenderer) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Table:
		return r.table(x)
	case *result.Stacks:
		return r.stacks(x)
	case *result.Heatmap:
		return r.heatmap(x)
	case *result.Why:
		return r.why(x)
	case *result.Detail:
		return r.detail(x)
	case *result.Line:
		return r.event(x)
	case *result.Text:
		return r.print(x.Bytes)
	}
	return Walk(x, r.Show)
}

// table writes a record of type table.
func (r *jsonRenderer) table(t *result.Table) error {
	if at := t.Histogram(); at >= 0 {
		return r.histogram(t, at)
	}
	r.begin("table")
	r.meta(&t.Meta)
	names := memberNames(t.Columns)
	r.buf = appendColumns(r.buf, "columns", t.Columns, names, t.Rows)
	r.buf = append(r.buf, `,"rows":[`...)
	of := shareOf(t.Columns)
	for i, row := range t.Rows {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, '{')
		r.cells(t.Columns, names, row, of)
		r.buf = append(r.buf, '}')
	}
	r.buf = append(r.buf, ']')
	r.omitted(t.Omitted)
	return r.end()
}

// histogram writes a record of type histogram: for each key the buckets as
// [lo, hi, count], null for an open bound.
func (r *jsonRenderer) histogram(h *result.Table, at int) error {
	r.begin("histogram")
	r.meta(&h.Meta)
	keys, value := h.Columns[:at], &h.Columns[at]
	names := memberNames(keys)
	r.buf = appendColumns(r.buf, "keys", keys, names, h.Rows)
	r.buf = appendJSONString(append(r.buf, `,"value":`...), value.Name)
	r.buf = appendUnit(r.buf, value.Unit)
	r.buf = append(r.buf, `,"rows":[`...)
	of := shareOf(keys)
	for i, row := range h.Rows {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, `{"key":{`...)
		r.cells(keys, names, row, of)
		d := value.Distribution(row[at])
		r.buf = append(r.buf, `},"count":`...)
		r.buf = strconv.AppendUint(r.buf, d.Total(), 10)
		r.buf = append(r.buf, `,"buckets":[`...)
		for j, b := range d.Buckets {
			if j > 0 {
				r.buf = append(r.buf, ',')
			}
			r.buf = appendBound(append(r.buf, '['), b.Lo)
			r.buf = appendBound(append(r.buf, ','), b.Hi)
			r.buf = strconv.AppendUint(append(r.buf, ','), b.Count, 10)
			r.buf = append(r.buf, ']')
		}
		r.buf = append(r.buf, `]}`...)
	}
	r.buf = append(r.buf, ']')
	r.omitted(h.Omitted)
	return r.end()
}

// Note writes a record of the note's own type, behind the record that is begun.
func (r *jsonRenderer) Note(kind string, fields ...NoteField) error {
	if r.open {
		r.later = appendJSONNote(r.later, kind, fields)
		return r.err
	}
	r.buf = appendJSONNote(r.buf, kind, fields)
	return r.spill()
}

func appendJSONNote(dst []byte, kind string, fields []NoteField) []byte {
	dst = beginJSON(dst, kind)
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, f.Name), ':')
		dst = appendJSONValue(dst, f.Value)
	}
	return append(dst, endJSON...)
}

// meta writes the members that every result has. Times are ns on the source's clock.
func (r *jsonRenderer) meta(m *result.Meta) {
	r.buf = appendJSONString(append(r.buf, `"name":`...), m.Name)
	if m.Title != "" {
		r.buf = appendJSONString(append(r.buf, `,"title":`...), m.Title)
	}
	r.buf = strconv.AppendInt(append(r.buf, `,"seq":`...), int64(m.Seq), 10)
	r.buf = strconv.AppendBool(append(r.buf, `,"final":`...), m.Final)
	r.buf = strconv.AppendInt(append(r.buf, `,"begin":`...), int64(m.Begin), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"end":`...), int64(m.End), 10)
	r.buf = appendWallJSON(r.buf, wallOf(m, r.line.Clock))
	r.buf = strconv.AppendUint(append(r.buf, `,"samples":`...), m.Samples, 10)
	r.buf = strconv.AppendUint(append(r.buf, `,"total_samples":`...), m.TotalSamples, 10)
	r.buf = append(r.buf, `,"loss":{`...)
	first := true
	for _, c := range m.Loss.Counts() {
		if c.N == 0 {
			continue
		}
		if !first {
			r.buf = append(r.buf, ',')
		}
		first = false
		r.buf = append(appendJSONString(r.buf, c.Name), ':')
		r.buf = strconv.AppendUint(r.buf, c.N, 10)
	}
	r.buf = append(r.buf, '}')
	if c := m.Cost; c != nil {
		r.buf = append(r.buf, `,"cost":{`...)
		first := true
		for i, share := range []float64{c.Own, c.Budget, c.Traced, c.Events, c.Time} {
			if c.Budget == 0 && i > 0 || share == result.NotMeasured {
				continue
			}
			if !first {
				r.buf = append(r.buf, ',')
			}
			first = false
			name := [...]string{"own", "budget", "traced", "events", "time"}[i]
			r.buf = append(appendJSONString(r.buf, name), ':')
			r.buf = strconv.AppendFloat(r.buf, share, 'g', 4, 64)
		}
		r.buf = append(r.buf, '}')
	}
}

func (r *jsonRenderer) omitted(n int) {
	if n > 0 {
		r.buf = strconv.AppendInt(append(r.buf, `,"omitted":`...), int64(n), 10)
	}
}

// cells writes the members of one row.
func (r *jsonRenderer) cells(columns []result.Column, names []string, row []event.Value, of []int) {
	for i := range columns {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		c, v := &columns[i], cellOf(row, i)
		r.buf = append(appendJSONString(r.buf, names[i]), ':')
		r.buf = appendJSONValue(r.buf, v)
		if twin(c, v) {
			r.scratch = trimLeft(r.appendTwin(r.scratch[:0], c, v, cellOf(row, of[i])))
			r.buf = append(appendJSONString(append(r.buf, ','), names[i]+"_text"), ':')
			r.buf = appendJSONString(r.buf, string(r.scratch))
		}
	}
}

// appendTwin appends a cell as text shows it, without padding; points in time
// are exact dates.
func (r *jsonRenderer) appendTwin(dst []byte, c *result.Column, v, of event.Value) []byte {
	if c.Shape {
		own := *c
		own.Text = nil
		c = &own
	}
	if c.Text == nil && v.Kind == event.TimeValue && c.Unit.Scale == 0 {
		return appendExactMoment(dst, event.Time(v.Int()), time.Time{}, &r.line)
	}
	return appendCell(dst, c, v, of, &r.line)
}

// twin reports whether text shows the cell in another form than its value.
func twin(c *result.Column, v event.Value) bool {
	if c.Text != nil && !c.Shape {
		return true
	}
	if _, named := nameIn(c, v); named {
		return true
	}
	if !v.Numeric() || v.Kind == event.BoolValue {
		return false
	}
	return c.Hex || c.ShareOf != "" || c.Unit.Scale != 0 || v.Kind == event.DurationValue ||
		v.Kind == event.TimeValue
}

func appendWallJSON(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	return append(appendDate(append(dst, `,"wall":"`...), t), '"')
}

func appendBound(dst []byte, v int64) []byte {
	if v == result.OpenLo || v == result.OpenHi {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, v, 10)
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}
