package render

import (
	"bytes"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// A packed table is for terminals with room for its longest line, as wide as
// they are when it comes; elsewhere the rows are shown.
func TestPackedTablesNeedATerminal(t *testing.T) {
	table := &result.Table{Meta: meta("counts", ""),
		Columns: []result.Column{key("event", 5), column("n", 3, unit.Number)},
		Rows:    [][]event.Value{{event.StrOf("first"), event.IntOf(7)}},
		Layout:  result.Layout{Packed: "|first|\n|7 8  |"}}
	shown := func(terminal func() int) string {
		var out bytes.Buffer
		r := newRenderer(t, &out, Options{Terminal: terminal})
		r.Show(table)
		r.Flush()
		_, text, _ := strings.Cut(out.String(), "\n")
		return text
	}
	rows := shown(nil)
	if !strings.Contains(rows, "event   n\n") {
		t.Errorf("without a terminal: got %q, want header and rows", rows)
	}
	width := 7
	wide := func() int { return width }
	if got := shown(wide); got != "|first|\n|7 8  |\n" {
		t.Errorf("7 cells: got %q, want the packed table", got)
	}
	width = 6
	if got := shown(wide); got != rows {
		t.Errorf("6 cells: got %q, want %q", got, rows)
	}
	table.Layout.Packed = ""
	width = 80
	if got := shown(wide); got != rows {
		t.Errorf("nothing packed: got %q, want %q", got, rows)
	}
}
