package parquet

import (
	"ppscript/runtime/event"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
	"ppscript/runtime/story"
	"ppscript/runtime/unit"
)

// This file writes results of intervals.

// leads is how many columns are in front of those of a result, all of other names.
var leads = [...]string{"seq", "begin", "end", "wall", "missing"}

// result is the file of a result, with what an interval of it says.
func (s *sink) result(m *result.Meta, omitted int) (*out, error) {
	o, err := s.of(m.Name, m.Title)
	if err != nil {
		return nil, err
	}
	o.loss.Add(m.Loss)
	o.costs.Add(m.Cost, float64(m.End-m.Begin)/1e9)
	o.samples += m.Samples
	o.omitted += omitted
	if len(o.columns) == 0 {
		for i, name := range leads {
			o.lead[i] = o.slot(name, 0)
		}
		o.lead[3].of(o.file, moment) // also where nobody knows it
	}
	return o, o.err
}

// A cell is a column of a result with where its values go.
type cell struct {
	*result.Column
	at     *slot
	text   *slot // nil until a value has a name
	number int   // of the columns of one name before it
}

// cells are those of columns. A result may have other columns in another interval.
func (o *out) cells(columns []result.Column) []cell {
	list := make([]cell, len(columns))
	seen := map[string]int{}
	for _, name := range leads {
		seen[name] = 1
	}
	for i := range columns {
		c := &columns[i]
		list[i] = cell{Column: c, at: o.slot(c.Name, seen[c.Name]), number: seen[c.Name]}
		first := list[i].at.first
		first.key = c.Kind == result.KeyColumn
		if first.unit = c.Unit.Base; first.unit == "" {
			first.unit = c.Unit.Symbol
		}
		seen[c.Name]++
	}
	return list
}

// put writes a cell: points in time as dates, if somebody knows them.
func (c *cell) put(s *sink, o *out, v event.Value) {
	if v.Kind == event.None {
		return
	}
	ns, dated := int64(0), false
	if v.Kind == event.TimeValue && c.Unit.Scale == 0 {
		ns, dated = s.wall(event.Time(v.Int()))
	}
	if dated {
		c.at.moment(o.file, ns)
	} else {
		c.at.value(o.file, v)
	}
	name, ok := "", false
	switch {
	case c.Text != nil && !c.Shape:
		name, ok = c.Text(v), true
	case c.Names != nil:
		name, ok = c.Names(v)
	}
	if ok && c.text == nil {
		c.text = o.slot(c.Name+"_text", c.number)
	}
	if ok {
		c.text.text(o.file, []byte(name))
	}
}

// fractions makes columns of fractions of those whose first rows have some, be they whole
// in the very first.
func (o *out) fractions(cells []cell, rows [][]event.Value) {
	for i := range cells {
		if cells[i].at.first.is != none {
			continue
		}
		for _, row := range rows {
			if i < len(row) && row[i].Kind == event.FloatValue {
				cells[i].at.of(o.file, real)
				break
			}
		}
	}
}

// Why implements render.Renderer: the causes in one file, the parts of the slowest spans in another.
func (s *sink) Why(w *result.Why) error {
	if err := s.Table(story.Causes(w, unit.US, 0)); err != nil || len(w.Slowest) == 0 {
		return err
	}
	return s.Table(story.Parts(w))
}

// Table implements render.Renderer.
func (s *sink) Table(t *result.Table) error {
	o, err := s.result(&t.Meta, t.Omitted)
	if err != nil {
		return s.fail(err)
	}
	cells := o.cells(t.Columns)
	o.fractions(cells, t.Rows)
	for _, row := range t.Rows {
		s.lead(o, &t.Meta)
		for i := range min(len(cells), len(row)) {
			cells[i].put(s, o, row[i])
		}
		if err := o.next(); err != nil {
			return s.fail(err)
		}
	}
	return nil
}

// Histogram implements render.Renderer: a row is a bucket.
func (s *sink) Histogram(h *result.Histogram) error {
	o, err := s.result(&h.Meta, h.Omitted)
	if err != nil {
		return s.fail(err)
	}
	columns := append(h.Keys[:len(h.Keys):len(h.Keys)], result.Column{Name: "lo", Unit: h.Unit},
		result.Column{Name: "hi", Unit: h.Unit}, result.Column{Name: "count"})
	cells := o.cells(columns)
	bounds := cells[len(h.Keys):]
	for i := range h.Rows {
		for _, b := range h.Rows[i].Buckets {
			s.lead(o, &h.Meta)
			for i, v := range h.Rows[i].Key {
				cells[i].put(s, o, v)
			}
			if b.Lo != result.OpenLo {
				bounds[0].at.signed(o.file, b.Lo)
			}
			if b.Hi != result.OpenHi {
				bounds[1].at.signed(o.file, b.Hi)
			}
			bounds[2].at.unsigned(o.file, b.Count)
			if err := o.next(); err != nil {
				return s.fail(err)
			}
		}
	}
	return nil
}

// Stacks implements render.Renderer: a row is a stack, with the names of its functions.
func (s *sink) Stacks(x *result.Stacks) error {
	o, err := s.result(&x.Meta, x.Omitted)
	if err != nil {
		return s.fail(err)
	}
	columns := append(x.Keys[:len(x.Keys):len(x.Keys)], result.Column{Name: "pid"},
		result.Column{Name: "count"})
	if x.Value != "" {
		columns = append(columns, result.Column{Name: x.Value, Unit: x.Unit})
	}
	cells := o.cells(append(columns, result.Column{Name: "stack"}))
	for i := range x.Samples {
		one := &x.Samples[i]
		s.lead(o, &x.Meta)
		for i, v := range one.Key {
			cells[i].put(s, o, v)
		}
		own := cells[len(x.Keys):]
		own[0].at.signed(o.file, int64(one.PID))
		own[1].at.unsigned(o.file, one.Count)
		if x.Value != "" {
			own[2].at.signed(o.file, one.Value)
		}
		own[len(own)-1].at.text(o.file, []byte(render.StackText(one.Frames)))
		if err := o.next(); err != nil {
			return s.fail(err)
		}
	}
	return nil
}

// fail notes that files end early.
func (s *sink) fail(err error) error {
	s.failed = true
	return err
}
