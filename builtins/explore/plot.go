package explore

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/output/chart"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// This file draws results in the terminal.

// A Drawing is the value of plot(...): text that is printed without quotes.
type Drawing string

func (d Drawing) String() string        { return strings.TrimRight(string(d), "\n") }
func (d Drawing) Type() string          { return "drawing" }
func (d Drawing) Freeze()               {}
func (d Drawing) Truth() starlark.Bool  { return d != "" }
func (d Drawing) Hash() (uint32, error) { return starlark.String(d).Hash() }

// Default number of rows, and maximum number of lines, of a drawing.
const (
	plotRows  = 20
	plotLines = 8
)

func (s *Workbench) plot() *b.Builtin {
	return &b.Builtin{
		Name:    "plot",
		Group:   b.Workshop,
		Summary: "Draws a result with characters: bars, a histogram, a heat map, or lines over intervals.",
		Params: []b.Param{
			{Name: "result", Type: b.Is("result"), Required: true, Doc: "what run returned; _ is the last one"},
			{Name: "column", Type: b.String, Default: b.Text("the last number"), Doc: "of a table: the number to draw"},
			{Name: "rows", Type: b.Int, Named: true, Default: starlark.MakeInt(plotRows), Doc: "how many bars, or lines of a heat map, at most"},
		},
		Returns: "drawing",
		Result:  "for a table a bar for each row, for stacks a bar for each of the largest, for a histogram a bar for each bucket. With run(..., interval = ...), for a table a line for each of the 8 largest keys, and for a histogram a heat map: time to the right, the number upwards",
		Errors:  "a log; no such column; a column that has no numbers; rows is less than 1",
		Source:  computed,
		Cost:    "per row",
		Examples: []b.Example{{
			Code: counted + "\n" + "plot(run(x))",
			Live: true,
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			r := c.Value("result").(*Result)
			n := int(c.Int("rows"))
			if n < 1 {
				return nil, c.Errorf("rows", "got %d, want at least 1", n)
			}
			p := plotter{of: r, column: c.String("column"), rows: n}
			p.options = chart.Options{Width: r.options.Width, Height: n, Color: s.Render.Color == "always"}
			text, err := p.draw()
			if err != nil {
				return nil, c.Error("result", err, "draw a table, a histogram or stacks: plot(_)")
			}
			return Drawing(text), nil
		},
	}
}

// A plotter draws one result.
type plotter struct {
	of      *Result
	column  string
	rows    int
	options chart.Options
}

func (p *plotter) draw() (string, error) {
	r := p.of
	switch {
	case r.table != nil && len(r.intervals) > 1:
		return p.lines()
	case r.table != nil:
		return p.bars()
	case r.hist != nil && len(r.intervals) > 1:
		return chart.Heat(chart.Over(r.histograms()), p.options) + p.lost(), nil
	case r.hist != nil:
		return chart.Histogram(r.hist, p.options) + p.lost(), nil
	case r.stacks != nil:
		return p.stacks(), nil
	}
	return "", errors.New("a log has no numbers to draw")
}

// lost returns a line about the events that the drawing lacks.
func (p *plotter) lost() string {
	loss := p.of.meta.Loss
	if len(p.of.intervals) > 1 {
		loss = event.Loss{}
		for _, x := range p.of.intervals {
			loss.Add(x.meta.Loss)
		}
	}
	if loss.Zero() {
		return ""
	}
	var parts []string
	for _, c := range loss.Counts() {
		if c.N > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.N, c.Name))
		}
	}
	return "not among them: " + strings.Join(parts, ", ") + "\n"
}

// number returns the index of the column to draw.
func (p *plotter) number(t *result.Table) (int, error) {
	if p.column != "" {
		i, err := t.Index(p.column)
		if err != nil {
			return 0, err
		}
		if !numbers(t, i) {
			return 0, fmt.Errorf("column %s has no numbers", p.column)
		}
		return i, nil
	}
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if t.Columns[i].Kind == result.ValueColumn && numbers(t, i) {
			return i, nil
		}
	}
	return 0, errors.New("no column has numbers")
}

func numbers(t *result.Table, column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []event.Value) bool {
		return column < len(row) && row[column].Numeric()
	})
}

// heading returns the heading of a drawing, such as "count by comm".
func heading(t *result.Table, column int) string {
	var keys []string
	for i := range t.Columns {
		if t.Columns[i].Kind == result.KeyColumn {
			keys = append(keys, t.Columns[i].Name)
		}
	}
	text := t.Columns[column].Title()
	if len(keys) > 0 {
		text += " by " + strings.Join(keys, ", ")
	}
	return text
}

func (p *plotter) bars() (string, error) {
	t := *p.of.table
	if len(t.Rows) == 0 {
		return "no rows\n" + p.lost(), nil
	}
	column, err := p.number(&t)
	if err != nil {
		return "", err
	}
	t.Rows = slices.Clone(t.Rows)
	if !p.of.sorted {
		if err := t.Sort(t.Columns[column].Name, true); err != nil {
			return "", err
		}
	}
	t.Top(p.rows)
	text := chart.Bars(heading(&t, column), chart.Table(&t, column), p.options)
	if t.Omitted > 0 {
		text += fmt.Sprintf("(%d more rows)\n", t.Omitted)
	}
	return text + p.lost(), nil
}

// lines draws a line over the intervals for each of the keys with the largest sums.
func (p *plotter) lines() (string, error) {
	type key struct {
		chart.Line
		sum float64
	}
	byKey := map[string]*key{}
	var list []*key
	head := ""
	for n, x := range p.of.intervals {
		if len(x.table.Rows) == 0 {
			continue
		}
		column, err := p.number(x.table)
		if err != nil {
			return "", err
		}
		head = heading(x.table, column)
		shown := x.table.Columns[column]
		for _, row := range x.table.Rows {
			if column >= len(row) || !row[column].Numeric() {
				continue
			}
			label := chart.Label(x.table, row)
			k := byKey[label]
			if k == nil {
				k = &key{Line: chart.Line{Label: label, Values: make([]float64, len(p.of.intervals))}}
				k.Text = func(v float64) string {
					if row[column].Kind == event.FloatValue {
						return render.CellText(&shown, event.FloatOf(v))
					}
					return render.CellText(&shown, event.IntOf(int64(math.Round(v))))
				}
				byKey[label] = k
				list = append(list, k)
			}
			k.Values[n] += row[column].Float()
			k.sum += row[column].Float()
		}
	}
	slices.SortStableFunc(list, func(a, b *key) int {
		switch {
		case a.sum > b.sum:
			return -1
		case a.sum < b.sum:
			return 1
		}
		return 0
	})
	more := len(list) - min(plotLines, p.rows)
	if more > 0 {
		list = list[:len(list)-more]
	}
	var lines []chart.Line
	for _, k := range list {
		lines = append(lines, k.Line)
	}
	first, last := p.of.intervals[0].meta, p.of.intervals[len(p.of.intervals)-1].meta
	options := p.options
	options.Height = min(options.Height, 10)
	text := chart.Lines(head, lines, unit.Duration(int64(last.End-first.Begin)), options)
	if more > 0 {
		text += fmt.Sprintf("(%d more)\n", more)
	}
	return text + p.lost(), nil
}

// stacks draws a bar for each of the largest stacks, named by its innermost
// function.
func (p *plotter) stacks() string {
	s := *p.of.stacks
	s.Samples = slices.Clone(s.Samples)
	s.Sort()
	s.Top(p.rows)
	var list []chart.Bar
	for i := range s.Samples {
		x := &s.Samples[i]
		label := "(none)"
		if len(x.Frames) > 0 {
			label = x.Frames[0].Symbol
		}
		list = append(list, chart.Bar{Label: label, Text: fmt.Sprint(x.Count), Value: float64(x.Count)})
	}
	return chart.Bars("stacks by their innermost function", list, p.options) + p.lost()
}

// histograms returns the histograms of the intervals.
func (r *Result) histograms() []*result.Table {
	var list []*result.Table
	for _, x := range r.intervals {
		list = append(list, x.hist)
	}
	return list
}
