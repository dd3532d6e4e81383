package render

import (
	"bytes"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// A matrix has a row for each value of one key, a column for each of another, in the order of the
// table; programs get the rows.
func TestPivot(t *testing.T) {
	row := func(cpu int64, from, to string, ns int64) []event.Value {
		return []event.Value{event.IntOf(cpu), event.StrOf(from), event.StrOf(to), event.DurationOf(ns)}
	}
	table := &result.Table{Columns: []result.Column{
		{Name: "cpu", Kind: result.KeyColumn}, {Name: "from", Kind: result.KeyColumn, Left: true},
		{Name: "to", Kind: result.KeyColumn}, {Name: "t", Unit: unit.US, Prec: result.UnitPrec},
	}, Rows: [][]event.Value{row(0, "a", "b", 3000), row(1, "a", "b", 4000), row(0, "b", "c", 5000),
		row(0, "a", "c", 6000)},
		Layout: result.Layout{NoDate: true, Pivot: &result.Pivot{Rows: "from", Columns: "to", Value: "t"}}}
	show := func(format string) string {
		var out bytes.Buffer
		r, err := New(&out, Options{Format: format, Time: "mono"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Show(table); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	f := func(format, want string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(show(format)) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}
	}
	f("text", "a 0 3.000 6.000\na 1 4.000 -\nb 0 - 5.000")
	f("markdown", "| a | 0 | 3.000 | 6.000 |")
	f("csv", "0,a,b,3")
}
