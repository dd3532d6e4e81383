package view

import (
	"errors"
	"fmt"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// TestTextsStayApart checks that keys that are no UTF-8, and one that is called as the row of the
// other keys, are rows of their own.
func TestTextsStayApart(t *testing.T) {
	names := []string{"a\xff", "a\xfe", `a\xff`, "a\ufffd", agg.OtherKey, `\x5f_other__`}
	want := []string{`a\xff`, `a\xfe`, `a\x5cxff`, "a\ufffd", `\x5f_other__`, `\x5cx5f_other__`}
	table := &result.Table{Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "all"}},
		Other: []event.Value{event.StrOf(agg.OtherKey), {}}}
	var hist []result.KeyDistribution
	for _, name := range names {
		list := event.ListOf(event.StrOf(name), event.IntOf(1))
		table.Rows = append(table.Rows, []event.Value{event.StrOf(name), list})
		hist = append(hist, result.KeyDistribution{Key: []event.Value{event.StrOf(name)}})
	}
	v := View{}
	v.Texts = map[string]CellFunc{"comm": func(c event.Value) (string, error) { return c.String(), nil }}
	if err := v.Table(table, nil); err != nil {
		t.Fatal(err)
	}
	h, err := v.Histogram(result.Meta{}, hist, result.KeyDistribution{},
		[]result.Column{{Name: "comm"}, {Name: "n"}}, make([]Show, 2))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range table.Rows[:len(names)] {
		text, in := table.Columns[0].Text(row[0]), row[1].List()[0].String()
		if text != want[i] || in != want[i] || h.Rows[i][0].String() != want[i] {
			t.Errorf("%q: got %q, in a list %q, of a histogram %v, want %q", names[i], text, in,
				h.Rows[i], want[i])
		}
	}
	if other := table.Rows[len(names)][0].String(); other != agg.OtherKey {
		t.Errorf("got %q for the other keys", other)
	}
}

// TestNamesOfBytes checks that bytes that have a name keep it, though they are no UTF-8: in tables
// and of histograms.
func TestNamesOfBytes(t *testing.T) {
	const address = "\x00\xff\xff\x7f"
	show := func(v event.Value) (string, bool) { return "0.255.255.127", v.String() == address }
	table := &result.Table{Columns: []result.Column{{Name: "saddr", Kind: result.KeyColumn}},
		Rows: [][]event.Value{{event.StrOf(address)}, {event.StrOf("\xff")}}}
	v := View{}
	if err := v.Table(table, []Show{show}); err != nil {
		t.Fatal(err)
	}
	h, err := v.Histogram(result.Meta{}, []result.KeyDistribution{{Key: []event.Value{event.StrOf(address)}}},
		result.KeyDistribution{}, []result.Column{{Name: "saddr"}, {Name: "n"}}, []Show{show, nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*result.Table{table, h} {
		if x.Columns[0].Names == nil {
			t.Fatal("the column has no names")
		}
		if got, ok := x.Columns[0].Names(x.Rows[0][0]); !ok || got != "0.255.255.127" {
			t.Errorf("got %q, %v", got, ok)
		}
	}
	if got := table.Rows[1][0].String(); got != `\xff` {
		t.Errorf("bytes without a name: got %q", got)
	}
}

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
