package explore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/script/value"
	"ppscript/runtime/session"
	"ppscript/runtime/text/unit"
	"ppscript/runtime/why/story"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// This file keeps the results of a run as values. Tables are valid only until
// the next interval and events only during a call, so everything is copied. A
// log keeps at most maxLines lines and counts the others.

// maxLines bounds the lines of a log that are kept.
const maxLines = 10_000

// A capture is a renderer that keeps results as values.
type capture struct {
	options render.Options
	names   []string // names of the results, by report; "" for a report without a result
	byName  map[string]*Result
	notes   []string
	// writing becomes Result.writing.
	writing func() context.Context
	permit  func(plan.Use) error
	each    bool // keep the results of each interval
}

func newCapture(o render.Options, reports []plan.Report, writing func() context.Context,
	permit func(plan.Use) error) *capture {
	return &capture{
		options: o,
		writing: writing,
		permit:  permit,
		names:   resultNames(reports),
		byName:  map[string]*Result{},
	}
}

// resultNames returns the names that package plan gives to the results of
// reports.
func resultNames(reports []plan.Report) []string {
	seen := map[string]int{}
	name := func(base string) string {
		if seen[base]++; seen[base] > 1 {
			return fmt.Sprintf("%s%d", base, seen[base])
		}
		return base
	}
	var names []string
	for _, r := range reports {
		n := ""
		switch r := r.(type) {
		case *plan.Group:
			n = name("table")
			if r.Histogram() {
				n = name("histogram")
			}
		case *plan.Log:
			n = name("log")
		case *plan.Slow:
			n = name("slow")
		case *plan.Stacks:
			n = name("stacks")
		case plan.ResultNamer:
			n = name(r.ResultName())
		}
		names = append(names, n)
	}
	return names
}

func (c *capture) open(o render.Options) error {
	c.options = o
	c.options.Color, c.options.Notes = "never", nil
	return nil
}

func (c *capture) of(name string) *Result {
	r := c.byName[name]
	if r == nil {
		r = &Result{name: name, options: c.options, writing: c.writing, permit: c.permit}
		c.byName[name] = r
	}
	return r
}

// Show implements render.Renderer.
func (c *capture) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Table:
		c.keep(x, func(r *Result) {
			if x.Histogram() >= 0 {
				r.hist = x.Clone()
			} else {
				r.table = x.Clone()
			}
		})
	case *result.Stacks:
		c.keep(x, func(r *Result) { r.stacks = ownStacks(x) })
	case *result.Why:
		c.why(x)
	case *result.Line:
		return c.line(c.of(x.LogName()), x, func() starlark.Value { return eventRow(x.Event) })
	case *result.Detail:
		return c.line(c.of(x.Name), x, func() starlark.Value { return detailRow(x) })
	}
	return nil
}

// keep keeps a copy of a result.
func (c *capture) keep(x result.Result, own func(r *Result)) {
	r := c.of(x.About().Name)
	own(r)
	r.meta = *x.About()
	c.interval(r)
}

func ownStacks(s *result.Stacks) *result.Stacks {
	own := *s
	own.Samples = slices.Clone(s.Samples)
	for i := range own.Samples {
		own.Samples[i].Key = result.CloneRow(own.Samples[i].Key)
		own.Samples[i].Frames = slices.Clone(own.Samples[i].Frames)
	}
	return &own
}

// interval appends a result to the list of intervals, if they are kept. An empty interval at the
// end of the run is left out.
func (c *capture) interval(r *Result) {
	if !c.each || r.meta.Final && r.meta.End <= r.meta.Begin {
		return
	}
	one := *r
	one.intervals = nil
	r.intervals = append(r.intervals, &one)
}

// why keeps the causes as a table, and the whole explanation to be shown.
func (c *capture) why(w *result.Why) {
	r := c.of(w.Name)
	t := story.Causes(w, unit.US, 0)
	r.table, r.meta, r.sorted = t, t.Meta, true
	r.why = &causesView{w, t}
}

// line adds an event to a log, rendered in every format, because the event is
// not valid later.
func (c *capture) line(r *Result, x result.Result, row func() starlark.Value) error {
	if r.log == nil {
		log, err := newLog(c.options)
		if err != nil {
			return err
		}
		r.log = log
	}
	if len(r.log.rows) >= maxLines {
		r.log.omitted++
		return nil
	}
	r.log.rows = append(r.log.rows, row())
	for _, f := range r.log.formats {
		if err := f.out.Show(x); err != nil {
			return err
		}
	}
	return nil
}

// A log has the lines of a log or of slow pairs.
type log struct {
	rows    []starlark.Value
	omitted int
	formats map[string]*bufferedFormat
}

type bufferedFormat struct {
	text bytes.Buffer
	out  render.Renderer
}

func newLog(o render.Options) (*log, error) {
	l := &log{formats: map[string]*bufferedFormat{}}
	for _, format := range render.Formats() {
		f := &bufferedFormat{}
		o.Format = format
		var err error
		if f.out, err = render.New(&f.text, o); err != nil {
			return nil, err
		}
		l.formats[format] = f
	}
	return l, nil
}

func (c *capture) Note(kind string, fields ...render.NoteField) error {
	s := kind
	for _, f := range fields {
		s += " " + f.Name + "=" + f.Value.String()
	}
	c.notes = append(c.notes, s)
	return nil
}

func (c *capture) Flush() error { return nil }

// results returns the results in the order of the reports. A log without events is
// an empty result.
func (c *capture) results(o session.Outcome) []starlark.Value {
	var list []starlark.Value
	for _, name := range c.names {
		if name == "" {
			continue
		}
		r := c.of(name)
		if r.table == nil && r.hist == nil && r.stacks == nil {
			r.meta.Name, r.meta.Final, r.meta.Loss = name, true, o.Loss
			r.meta.Samples, r.meta.TotalSamples = o.Samples, o.Samples
		}
		list = append(list, r)
	}
	return list
}

// eventRow converts an event to a struct with the sample members and the
// event's own fields.
func eventRow(e *event.Event) starlark.Value {
	d := starlark.StringDict{
		"event": starlark.String(e.Stream.Schema.Name),
		"time":  value.Time(e.Time), "cpu": starlark.MakeInt(int(e.CPU)),
		"pid": starlark.MakeInt(int(e.PID)), "tid": starlark.MakeInt(int(e.TID)),
	}
	if e.Stream.Comm != nil {
		d["comm"] = starlark.String(strings.Clone(e.Stream.Comm(e)))
	}
	for i := range e.Stream.Schema.Fields {
		f := &e.Stream.Schema.Fields[i]
		if !strings.HasPrefix(f.Name, "common_") {
			d[f.Name] = own(value.ToStarlark(f.Value(e)))
		}
	}
	return starlarkstruct.FromStringDict(starlark.String("event"), d)
}

func detailRow(d *result.Detail) starlark.Value {
	row := starlark.StringDict{"pair": starlark.String(d.Pair), "delay": value.Duration(d.DelayNS()),
		"start": eventRow(d.Start), "end": starlark.None, "lines": starlark.MakeInt(len(d.Lines))}
	if d.End != nil {
		row["end"] = eventRow(d.End)
	}
	return starlarkstruct.FromStringDict(starlark.String("pair"), row)
}

// own copies a string, since its bytes may be in the event's memory.
func own(v starlark.Value) starlark.Value {
	if s, ok := v.(starlark.String); ok {
		return starlark.String(strings.Clone(string(s)))
	}
	return v
}
