package result

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

func sample() *Table {
	row := func(comm string, calls int64, total event.Value) []event.Value {
		return []event.Value{event.StrOf(comm), event.IntOf(calls), total}
	}
	return &Table{
		Meta: Meta{Name: "lat"},
		Columns: []Column{
			{Name: "comm", Kind: KeyColumn, Left: true},
			{Name: "calls"},
			{Name: "total", Unit: unit.US, Prec: UnitPrec},
		},
		Rows: [][]event.Value{
			row("db", 3, event.DurationOf(500)),
			row("cat", 3, event.Value{}),
			row("sh", 1, event.DurationOf(-7)),
			row("ls", 9, event.DurationOf(80)),
		},
	}
}

func comms(t *Table) string {
	var names []string
	for _, r := range t.Rows {
		names = append(names, r[0].String())
	}
	return strings.Join(names, " ")
}

func TestSort(t *testing.T) {
	f := func(column string, reverse bool, want string) {
		t.Helper()
		tab := sample()
		if err := tab.Sort(column, reverse); err != nil {
			t.Fatal(err)
		}
		if got := comms(tab); got != want {
			t.Errorf("sort by %s, reverse %v: got %q, want %q", column, reverse, got, want)
		}
	}
	f("comm", false, "cat db ls sh")
	f("comm", true, "sh ls db cat")
	f("calls", false, "sh db cat ls") // equal rows keep their order
	f("calls", true, "ls db cat sh")
	f("total", false, "sh ls db cat") // the empty cell stays last
	f("total", true, "db ls sh cat")
	f("total(us)", true, "db ls sh cat")
}

func TestIndexSuggests(t *testing.T) {
	_, err := sample().Index("totla")
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "did you mean total?") {
		t.Errorf("got error %v, want a diag.Error that suggests total", err)
	}
	if want := "use one of: comm, calls, total"; diag.HintOf(err) != want {
		t.Errorf("got hint %q, want %q", diag.HintOf(err), want)
	}
	if err := sample().Sort("nope", false); err == nil {
		t.Error("sort by an unknown column: got no error")
	}
}

func TestTopCountsOmitted(t *testing.T) {
	f := func(n int, want string, omitted int) {
		t.Helper()
		tab := sample()
		tab.Top(n)
		if got := comms(tab); got != want || tab.Omitted != omitted {
			t.Errorf("top %d: got %q and %d omitted, want %q and %d", n, got, tab.Omitted, want, omitted)
		}
	}
	f(2, "db cat", 2)
	f(0, "", 4)
	f(-1, "", 4)
	f(4, "db cat sh ls", 0)
	f(9, "db cat sh ls", 0)
}

func TestWithUnit(t *testing.T) {
	tab := sample()
	if err := tab.WithUnit(unit.MS); err != nil {
		t.Fatal(err)
	}
	if got := []string{
		tab.Columns[1].Title(), tab.Columns[2].Title(),
	}; !reflect.DeepEqual(got, []string{"calls", "total(ms)"}) {
		t.Errorf("got titles %q, want calls and total(ms)", got)
	}
	if err := tab.WithUnit(unit.KiB); err == nil {
		t.Error("bytes for a table of durations: got no error")
	}
}

func TestAppendColumn(t *testing.T) {
	// Rows that lie behind each other in one array must not overwrite.
	flat := []event.Value{event.IntOf(1), event.IntOf(2), event.IntOf(3)}
	tab := &Table{Columns: []Column{{Name: "n"}}, Rows: [][]event.Value{flat[0:1], flat[1:2], flat[2:3]}}
	double := func(row []event.Value) (event.Value, error) { return event.IntOf(2 * row[0].Int()), nil }
	if err := tab.AppendColumn(Column{Name: "twice"}, double); err != nil {
		t.Fatal(err)
	}
	for i, row := range tab.Rows {
		if len(row) != 2 || row[0].Int() != int64(i+1) || row[1].Int() != int64(2*(i+1)) {
			t.Errorf("row %d: got %v, want %d and %d", i, row, i+1, 2*(i+1))
		}
	}
	if err := tab.AppendColumn(Column{Name: "twice"}, double); err == nil {
		t.Error("second column of one name: got no error")
	}
	bad := errors.New("bad row")
	fail := func([]event.Value) (event.Value, error) { return event.Value{}, bad }
	if err := tab.AppendColumn(Column{Name: "x"}, fail); !errors.Is(err, bad) || len(tab.Columns) != 2 ||
		len(tab.Rows[0]) != 2 {
		t.Errorf("failing function: got error %v, %d columns, %d cells; want the error and nothing changed",
			err, len(tab.Columns), len(tab.Rows[0]))
	}
}

func TestHistogram(t *testing.T) {
	h := NewHistogram(Meta{}, []Column{{Name: "cpu"}}, Column{Name: "delay"}, []KeyDistribution{
		{[]event.Value{event.IntOf(2)}, Distribution{Buckets: []Bucket{{0, 1, 2}, {1, 2, 5}}}},
		{[]event.Value{event.IntOf(1)}, Distribution{}},
		{nil, Distribution{Buckets: []Bucket{{0, 1, 9}}}},
	})
	at := h.Histogram()
	total := func(row int) uint64 { return h.Columns[at].Distribution(h.Rows[row][at]).Total() }
	if at != 1 || total(0) != 7 || total(1) != 0 || total(2) != 9 {
		t.Errorf("got column %d, totals %d, %d, %d; want 1, 7, 0, 9", at, total(0), total(1), total(2))
	}
	own := h.Clone()
	own.Columns[at].Distributions[0].Buckets[0].Count = 100
	if err := h.Sort("cpu", false); err != nil || total(0) != 0 || total(1) != 7 || total(2) != 9 {
		t.Errorf("sorted by key: totals %d, %d, %d, %v; want 0, 7, 9", total(0), total(1), total(2), err)
	}
	h.Top(1)
	if len(h.Rows) != 1 || h.Omitted != 2 {
		t.Errorf("top 1: got %d rows, %d omitted; want 1 and 2", len(h.Rows), h.Omitted)
	}
	if n := h.Columns[at].Distribution(event.Value{}).Total(); n != 0 || (&Table{}).Histogram() != -1 {
		t.Errorf("an empty cell has %d values, no columns are histogram %d; want 0, -1", n,
			(&Table{}).Histogram())
	}
}
