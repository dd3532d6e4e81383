package story

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// Parts makes a table of the parts of the slowest spans, in time order: the number, label, key
// and thread of the span; the begin, length and kind of the part; and its path.
func Parts(w *result.Why) *result.Table {
	t := &result.Table{Meta: w.Meta}
	t.Name = Meta(w).Name + "/parts"
	t.Title, t.Loss = "where the time of the slowest spans went", event.Loss{}
	key := func(name string) result.Column {
		return result.Column{Name: name, Kind: result.KeyColumn, Left: true}
	}
	number := func(name string, u unit.Unit) result.Column {
		return result.Column{Name: name, Unit: u, Prec: result.UnitPrec}
	}
	t.Columns = []result.Column{
		key("span"), key("label"), key("key"), key("comm"), key("tid"),
		number("since", unit.US), number("took", unit.US), key("kind"), key("cause"),
	}
	for i, s := range w.Slowest {
		for j := range s.Parts {
			p := &s.Parts[j]
			cause := p.Cause()
			t.Rows = append(t.Rows, []event.Value{
				event.IntOf(int64(i + 1)), event.StrOf(s.Label), event.StrOf(s.Key), event.StrOf(s.Task.Comm),
				event.IntOf(int64(s.Task.TID)), event.DurationOf(int64(p.From - s.From)),
				event.DurationOf(p.NS()), event.StrOf(cause.Kind.String()), event.StrOf(Path(p.Path)),
			})
		}
	}
	return t
}

// Tables returns the causes, the conclusion with the notes, and the stories of the slowest spans
// as tables, for renderers that only show tables.
func Tables(w *result.Why) []*result.Table {
	causes := Causes(w, Unit(mean(w.Slow.NS, w.Slow.Spans)), 0)
	end := &result.Table{Meta: w.Meta}
	end.Name, end.Title, end.Loss = causes.Name+"/conclusion", "conclusion", event.Loss{}
	end.Columns = []result.Column{{Name: "conclusion", Kind: result.KeyColumn, Left: true}}
	for _, text := range append([]string{Conclusion(w)}, Notes(w)...) {
		if text != "" {
			end.Rows = append(end.Rows, []event.Value{event.StrOf(text)})
		}
	}
	list := []*result.Table{causes, end}
	if len(w.Slowest) == 0 {
		return list
	}
	t := &result.Table{Meta: w.Meta}
	t.Name, t.Title, t.Loss = causes.Name+"/slowest", "the slowest spans", event.Loss{}
	key := func(name string) result.Column {
		return result.Column{Name: name, Kind: result.KeyColumn, Left: true}
	}
	u := Unit(float64(w.Slowest[0].NS()))
	number := result.Column{Unit: u, Prec: result.UnitPrec}
	since, took := number, number
	since.Name, took.Name = "since", "took"
	t.Columns = []result.Column{key("span"), since, took, key("story")}
	for i, s := range w.Slowest {
		row := func(at, ns int64, text string) {
			t.Rows = append(t.Rows, []event.Value{event.IntOf(int64(i + 1)), event.DurationOf(at),
				event.DurationOf(ns), event.StrOf(text)})
		}
		title := Title(s)
		if s.Doubt != "" {
			title += " (in doubt: " + s.Doubt + ")"
		}
		if s.Merged {
			title += " (" + merged + ")"
		}
		row(0, s.NS(), title)
		for _, l := range Lines(s, mostLines) {
			row(l.At, l.NS, strings.Repeat("\u2007", 2*(l.Depth+1))+l.Text)
		}
	}
	return append(list, t)
}
