package view

import (
	"errors"
	"fmt"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// The row of the other keys stays the last one, counts in sums, and no function of the
// script sees it: it has no key.
func TestOtherRow(t *testing.T) {
	number := func(v event.Value) error {
		if !v.Numeric() {
			return errors.New("want a number")
		}
		return nil
	}
	rows := func() *result.Table {
		table := &result.Table{
			Columns: []result.Column{{Name: "id", Kind: result.KeyColumn}, {Name: "n"}},
			Other:   []event.Value{event.StrOf(agg.OtherKey), event.IntOf(100)},
		}
		for i := range int64(4) {
			table.Rows = append(table.Rows, []event.Value{event.IntOf(i), event.IntOf(10 * i)})
		}
		return table
	}
	v := View{Steps: []Step{
		{Sort: "n", Reverse: true}, {Top: 2}, {Totals: "all"},
	}}
	v.Texts = map[string]CellFunc{"id": func(c event.Value) (string, error) {
		if c.String() == "all" {
			return "all", nil
		}
		return "<" + c.String() + ">", number(c)
	}}
	v.Hidden = map[string]bool{"twice": true}
	twice := Step{With: "twice", Fn: func(_ []string, row []event.Value) (event.Value, error) {
		return event.IntOf(2 * row[1].Int()), number(row[0])
	}}
	v.Steps = append([]Step{twice}, v.Steps...)
	table := rows()
	if err := v.Table(table, nil); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, row := range table.Rows {
		got += fmt.Sprint(table.Columns[0].Text(row[0]), " ", row[1], "; ")
	}
	if want := "<3> 30; <2> 20; __other__ 100; all 150; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Lines are the script's own.
	v = View{Row: func(_ []string, rows [][]event.Value) ([]string, error) {
		return make([]string, len(rows)), nil
	}}
	if table = rows(); v.Table(table, nil) != nil || len(table.Rows) != 4 {
		t.Errorf("got %d rows with lines, want 4", len(table.Rows))
	}
}
