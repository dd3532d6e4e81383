package render

import (
	"strconv"

	"ppscript/runtime/result"
)

// heatmap writes a record of type heatmap: its rows are ranges of values, each with its
// non-zero counts as [column, count].
func (r *jsonRenderer) heatmap(h *result.Heatmap) error {
	if !r.page {
		return nil
	}
	r.begin("heatmap")
	r.meta(&h.Meta)
	r.buf = appendJSONString(append(r.buf, `,"value":`...), h.Value)
	r.buf = appendUnit(r.buf, h.Unit)
	r.buf = strconv.AppendInt(append(r.buf, `,"step":`...), int64(h.Step), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"columns":`...), int64(h.Columns), 10)
	r.buf = append(r.buf, `,"rows":[`...)
	for i := range h.Rows {
		row := &h.Rows[i]
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = appendBound(append(r.buf, `{"lo":`...), row.Lo)
		r.buf = appendBound(append(r.buf, `,"hi":`...), row.Hi)
		r.buf = append(r.buf, `,"counts":[`...)
		some := false
		for c, n := range row.Counts {
			if n == 0 {
				continue
			}
			if some {
				r.buf = append(r.buf, ',')
			}
			some = true
			r.buf = strconv.AppendInt(append(r.buf, '['), int64(c), 10)
			r.buf = strconv.AppendUint(append(r.buf, ','), n, 10)
			r.buf = append(r.buf, ']')
		}
		r.buf = append(r.buf, `]}`...)
	}
	r.buf = append(r.buf, ']')
	return r.end()
}
