package render

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file writes JSON: one object for each line, {"v":1,"type":T,"data":D}.
// Numbers stand in their base units; beside each number that people would see
// in another form stands NAME_text with that form. The encoder is our own
// because encoding/json allocates for each value of each event, and because
// the order of the members is then ours.

type jsonRenderer struct {
	*sink
	clock   func(event.Time) time.Time
	line    LineOptions
	scratch []byte
}

func (r *jsonRenderer) begin(kind string) {
	r.buf = append(r.buf, `{"v":1,"type":`...)
	r.buf = appendJSONString(r.buf, kind)
	r.buf = append(r.buf, `,"data":{`...)
}

func (r *jsonRenderer) end() error {
	r.buf = append(r.buf, "}}\n"...)
	return r.spill()
}

// Table writes a record of type table.
func (r *jsonRenderer) Table(t *result.Table) error {
	r.begin("table")
	r.meta(&t.Meta)
	names := memberNames(t.Columns)
	r.buf = appendColumns(r.buf, "columns", t.Columns, names)
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

// Histogram writes a record of type histogram: for each key the buckets as
// [lo, hi, count], null for an open bound.
func (r *jsonRenderer) Histogram(h *result.Histogram) error {
	r.begin("histogram")
	r.meta(&h.Meta)
	names := memberNames(h.Keys)
	r.buf = appendColumns(r.buf, "keys", h.Keys, names)
	r.buf = appendJSONString(append(r.buf, `,"value":`...), h.Value)
	r.buf = appendUnit(r.buf, h.Unit.Symbol, h.Unit.Base)
	r.buf = append(r.buf, `,"rows":[`...)
	for i := range h.Rows {
		row := &h.Rows[i]
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, `{"key":{`...)
		r.cells(h.Keys, names, row.Key, shareOf(h.Keys))
		r.buf = append(r.buf, `},"count":`...)
		r.buf = strconv.AppendUint(r.buf, row.Total(), 10)
		r.buf = append(r.buf, `,"buckets":[`...)
		for j, b := range row.Buckets {
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

// Note writes a record of the note's own type.
func (r *jsonRenderer) Note(kind string, fields ...NoteField) error {
	r.begin(kind)
	for i, f := range fields {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(appendJSONString(r.buf, f.Name), ':')
		r.buf = appendJSONValue(r.buf, f.Value)
	}
	return r.end()
}

// meta writes what every result has. Times are ns on the source's clock.
func (r *jsonRenderer) meta(m *result.Meta) {
	r.buf = appendJSONString(append(r.buf, `"name":`...), m.Name)
	if m.Title != "" {
		r.buf = appendJSONString(append(r.buf, `,"title":`...), m.Title)
	}
	r.buf = strconv.AppendInt(append(r.buf, `,"seq":`...), int64(m.Seq), 10)
	r.buf = strconv.AppendBool(append(r.buf, `,"final":`...), m.Final)
	r.buf = strconv.AppendInt(append(r.buf, `,"begin":`...), int64(m.Begin), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"end":`...), int64(m.End), 10)
	r.buf = appendWallJSON(r.buf, wallOf(m, r.clock))
	r.buf = strconv.AppendUint(append(r.buf, `,"samples":`...), m.Samples, 10)
	r.buf = strconv.AppendUint(append(r.buf, `,"total_samples":`...), m.TotalSamples, 10)
	r.buf = append(r.buf, `,"loss":{`...)
	first := true
	for _, c := range lossCounts(&m.Loss) {
		if c.n == 0 {
			continue
		}
		if !first {
			r.buf = append(r.buf, ',')
		}
		first = false
		r.buf = append(appendJSONString(r.buf, c.name), ':')
		r.buf = strconv.AppendUint(r.buf, c.n, 10)
	}
	r.buf = append(r.buf, '}')
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
			r.scratch = trimLeft(appendCell(r.scratch[:0], c, v, cellOf(row, of[i])))
			r.buf = append(appendJSONString(append(r.buf, ','), names[i]+"_text"), ':')
			r.buf = appendJSONString(r.buf, string(r.scratch))
		}
	}
}

// twin tells whether people see the cell in another form than its value.
func twin(c *result.Column, v event.Value) bool {
	if c.Text != nil {
		return true
	}
	if !v.Numeric() || v.Kind == event.BoolValue {
		return false
	}
	return c.Hex || c.ShareOf != "" || c.Unit.Scale != 0 || v.Kind == event.DurationValue
}

// memberNames makes the column names unique: a second "count" is "count_2".
func memberNames(columns []result.Column) []string {
	seen := make(map[string]int, len(columns))
	names := make([]string, len(columns))
	for i := range columns {
		name := columns[i].Name
		for n := 2; seen[name] > 0; n++ {
			name = columns[i].Name + "_" + strconv.Itoa(n)
		}
		seen[name]++
		names[i] = name
	}
	return names
}

func appendColumns(dst []byte, member string, columns []result.Column, names []string) []byte {
	dst = append(appendJSONString(append(dst, ','), member), ":["...)
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(append(dst, `{"name":`...), names[i])
		kind := "value"
		if columns[i].Kind == result.KeyColumn {
			kind = "key"
		}
		dst = appendJSONString(append(dst, `,"kind":`...), kind)
		dst = appendUnit(dst, columns[i].Unit.Symbol, columns[i].Unit.Base)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendUnit appends the unit of the text form and that of the numbers.
func appendUnit(dst []byte, symbol, base string) []byte {
	if symbol == "" {
		return dst
	}
	dst = appendJSONString(append(dst, `,"unit":`...), symbol)
	return appendJSONString(append(dst, `,"base":`...), base)
}

func appendWallJSON(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, `,"wall":"`...)
	dst = t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000000Z07:00")
	return append(dst, '"')
}

func appendBound(dst []byte, v int64) []byte {
	if v == result.OpenLo || v == result.OpenHi {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendJSONValue appends v as it is; NaN and infinities, which JSON does not
// have, are null.
func appendJSONValue(dst []byte, v event.Value) []byte {
	switch v.Kind {
	case event.None:
		return append(dst, "null"...)
	case event.StrValue:
		return appendJSONString(dst, v.String())
	case event.BoolValue:
		return strconv.AppendBool(dst, v.Bool())
	case event.UintValue:
		return strconv.AppendUint(dst, v.Uint(), 10)
	case event.FloatValue:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return append(dst, "null"...)
		}
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	case event.ListValue:
		dst = append(dst, '[')
		for i, m := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, m)
		}
		return append(dst, ']')
	}
	return strconv.AppendInt(dst, v.Int(), 10)
}

// appendJSONString appends s quoted. Bytes that are not UTF-8 become U+FFFD;
// characters that could act on a terminal or end a line in JavaScript are
// escaped.
func appendJSONString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	plainFrom := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[plainFrom:i]...)
		var n int
		dst, n = appendJSONRune(dst, string(s[i:min(i+utf8.UTFMax, len(s))]))
		i += n
		plainFrom = i
	}
	dst = append(dst, s[plainFrom:]...)
	return append(dst, '"')
}

// appendJSONRune appends the first character of s, escaped if need be.
func appendJSONRune(dst []byte, s string) ([]byte, int) {
	switch s[0] {
	case '"', '\\':
		return append(dst, '\\', s[0]), 1
	case '\n':
		return append(dst, '\\', 'n'), 1
	case '\t':
		return append(dst, '\\', 't'), 1
	case '\r':
		return append(dst, '\\', 'r'), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && n == 1 {
		return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15]), n
	}
	return append(dst, s[:n]...), n
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}
