package render

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
	"ppscript/runtime/why/story"
)

// Walk converts a result for renderers that do not support its shape. It calls show with tables
// of plain cells, and lines of events:
//
//	Table   of distributions: a row for each bucket: keys, lo, hi, count
//	Stacks  a row for each stack: keys, pid, count, value, the functions in one text
//	Why     a table of the causes, and a table of the parts of the slowest spans
//	Detail  a line for its start and a line for its end
//
// It ignores heat maps, which have their own files. It also ignores tables of plain cells, lines
// and texts: these are not converted further, so a renderer must support them to show them.
func Walk(r result.Result, show func(result.Result) error) error {
	switch r := r.(type) {
	case *result.Table:
		if at := r.Histogram(); at >= 0 {
			return show(bucketTable(r, at))
		}
	case *result.Stacks:
		return show(stackTable(r))
	case *result.Why:
		if err := show(story.Causes(r, unit.US, 0)); err != nil || len(r.Slowest) == 0 {
			return err
		}
		return show(story.Parts(r))
	case *result.Detail:
		return pairLines(r, show)
	}
	return nil
}

// bucketTable makes a table with a row for each bucket and its bounds; an open
// bound is empty.
func bucketTable(h *result.Table, at int) *result.Table {
	value := &h.Columns[at]
	t := &result.Table{Meta: h.Meta, Omitted: h.Omitted, Columns: append(slices.Clip(h.Columns[:at]),
		result.Column{Name: "lo", Unit: value.Unit}, result.Column{Name: "hi", Unit: value.Unit},
		result.Column{Name: "count"})}
	bound := func(v int64) event.Value {
		if v == result.OpenLo || v == result.OpenHi {
			return event.Value{}
		}
		return event.IntOf(v)
	}
	for _, row := range h.Rows {
		for _, b := range value.Distribution(row[at]).Buckets {
			t.Rows = append(t.Rows, append(slices.Clip(row[:at]), bound(b.Lo), bound(b.Hi),
				event.UintOf(b.Count)))
		}
	}
	return t
}

// stackTable makes a table with a row for each stack and its functions as one text, the
// outermost first.
func stackTable(s *result.Stacks) *result.Table {
	t := &result.Table{Meta: s.Meta, Omitted: s.Omitted, Columns: append(slices.Clip(s.Keys),
		result.Column{Name: "pid"}, result.Column{Name: "count"})}
	if s.Value != "" {
		t.Columns = append(t.Columns, result.Column{Name: s.Value, Unit: s.Unit})
	}
	t.Columns = append(t.Columns, result.Column{Name: "stack", Left: true})
	for i := range s.Samples {
		x := &s.Samples[i]
		row := append(slices.Clip(x.Key), event.IntOf(int64(x.PID)), event.UintOf(x.Count))
		if s.Value != "" {
			row = append(row, amount(s, x.Value))
		}
		t.Rows = append(t.Rows, append(row, event.StrOf(StackText(x.Frames))))
	}
	return t
}

// pairLines shows the start and the end of a pair as lines. The events around them are only for
// renderers that support Detail.
func pairLines(d *result.Detail, show func(result.Result) error) error {
	for _, e := range []*event.Event{d.Start, d.End} {
		if e == nil {
			continue
		}
		l := result.Line{Event: e, Result: d.Name, Stacks: d.Stack != nil}
		if l.Stacks {
			l.CallStack = d.Stack(e)
		}
		if err := show(&l); err != nil {
			return err
		}
	}
	return nil
}
