package parquet

import (
	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
)

// This file writes results of intervals.

// leads are the names of the first columns of all results.
var leads = [...]string{"seq", "begin", "end", "wall", "missing"}

// result returns the file of a result, and adds the counts of an interval to
// it.
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
		o.lead[3].of(o.file, moment) // is a moment even if no wall-clock time is known
	}
	return o, o.err
}

// A cell is a column of a result with the slots for its values.
type cell struct {
	*result.Column
	at     *slot
	text   *slot // nil until a value has a name
	number int   // number of earlier columns with the same name
}

// cells returns the cells for columns. The columns of a result may differ between
// intervals.
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

// put writes a cell. Points in time are dates if their wall-clock time is
// known.
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

// fractions gives new columns the class real if any of the first interval's rows has a
// fraction there, even if the first row has a whole number.
func (o *out) fractions(cells []cell, rows [][]event.Value) {
	for i := range cells {
		if cells[i].at.first.class != none {
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

// Show implements render.Renderer: histograms, stacks and explanations of slow spans become
// tables by render.Walk.
func (s *sink) Show(x result.Result) (err error) {
	switch x := x.(type) {
	case *result.Table:
		if x.Histogram() >= 0 {
			return render.Walk(x, s.Show)
		}
		err = s.table(x)
	case *result.Line:
		err = s.line(x)
	case *result.Detail:
		err = s.detail(x)
	default:
		return render.Walk(x, s.Show)
	}
	if err != nil {
		s.failed = true // the files will be incomplete
	}
	return err
}

func (s *sink) table(t *result.Table) error {
	o, err := s.result(&t.Meta, t.Omitted)
	if err != nil {
		return err
	}
	cells := o.cells(t.Columns)
	o.fractions(cells, t.Rows)
	for _, row := range t.Rows {
		s.lead(o, &t.Meta)
		for i := range min(len(cells), len(row)) {
			cells[i].put(s, o, row[i])
		}
		if err := o.next(); err != nil {
			return err
		}
	}
	return nil
}
