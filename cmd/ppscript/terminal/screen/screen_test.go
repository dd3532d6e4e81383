package screen

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Numbers begin with the largest, also if the interval in which the key came had
// no rows.
func TestSortOfAnEmptyInterval(t *testing.T) {
	columns := []result.Column{{Name: "id"}, {Name: "comm"}}
	s := &Screen{table: &result.Table{Columns: columns}}
	row := &result.Table{Columns: columns, Rows: [][]event.Value{{event.IntOf(1), event.StrOf("a")}}}
	f := func(key string, table *result.Table, sort string, reverse bool) {
		t.Helper()
		s.obey(key)
		s.table = table
		if s.direct(); s.view.Sort != sort || s.view.Reverse != reverse {
			t.Errorf("%q: got sort %q, reverse %v, want %q, %v", key, s.view.Sort,
				s.view.Reverse, sort, reverse)
		}
	}
	f(">", row, "id", true)
	f("r", row, "id", false)
	f(">", row, "comm", false)
	f("r", row, "comm", true)
	f("<", row, "id", true)
	f("<", row, "", false)
	f("r", row, "", true)
}

func TestKeys(t *testing.T) {
	var got []string
	for s := "q\x1b[A\x1bOB\x1b[5~x\x1b"; s != ""; {
		var key string
		key, s = nextKey(s)
		got = append(got, key)
	}
	if want := []string{"q", "\x1b[A", "\x1bOB", "\x1b[5~", "x", "\x1b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
