package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// TestStacksStandBelowTheirRow checks that stacks that are keys stand below their row, the
// innermost frame first: nobody reads lines of a thousand columns. The column of counts stays where
// it is.
func TestStacksStandBelowTheirRow(t *testing.T) {
	var out bytes.Buffer
	long := strings.Repeat("work", 15)
	r := newRenderer(t, &out, Options{Format: "text"})
	table := &result.Table{Columns: []result.Column{
		{Name: "stack", Kind: result.KeyColumn, Type: result.StackNumbers, Left: true},
		{Name: "count", Width: 5},
	}, Rows: [][]event.Value{
		{event.StrOf("main;" + long + ";getppid"), event.IntOf(12)},
		{event.StrOf("main"), event.IntOf(1)},
		{event.StrOf(""), event.IntOf(3)},
	}, Layout: result.Layout{NoDate: true}}
	if err := r.Show(table); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "stack count\n----- -----\n" +
		"         12\n    getppid\n    " + long + "\n    main\n" +
		"          1\n    main\n" +
		"          3\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	// Where all are short, they are cells as others.
	out.Reset()
	table.Rows = [][]event.Value{{event.StrOf("main;getppid"), event.IntOf(12)}}
	if err := errors.Join(r.Show(table), r.Flush()); err != nil {
		t.Fatal(err)
	}
	if want := "stack        count\n------------ -----\nmain;getppid    12\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
