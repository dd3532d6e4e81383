package sql

import (
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

func TestMistake(t *testing.T) {
	schema := &event.Schema{System: "irq", Name: "e", Fields: []event.Field{
		{Name: "vec", Type: "int", Size: 4, Signed: true},
		{Name: "n", Type: "int", Size: 4, Signed: true},
		{Name: "comm", Type: "char[]", Kind: event.Str},
	}}
	schema.Symbolic = func(field string) *event.Symbols {
		if field != "vec" {
			return nil
		}
		return &event.Symbols{Names: map[uint64]string{1: "TIMER"}}
	}
	table := &EventTable{Schema: schema}
	table.Name = "e"
	table.Fill(false, nil)
	other := &EventTable{Schema: &event.Schema{Fields: []event.Field{
		{Name: "n", Type: "char[]", Kind: event.Str},
	}}}
	other.Fill(false, nil)

	f := func(query, hint string, tables ...*EventTable) {
		t.Helper()
		err := Mistake(query, append(tables, table))
		if got := diag.HintOf(err); got != hint || (err == nil) != (hint == "") {
			t.Errorf("%s: got %v with the hint %q, want %q", query, err, got, hint)
		}
		if err != nil && !strings.Contains(err.Error(), "holds numbers") {
			t.Errorf("%s: got %v", query, err)
		}
	}
	f("select * from e where vec = 'TIMER'", "compare the name: symbolic('vec', vec) = 'TIMER'")
	f("select * from e a join e b on a.vec <> 'TIMER'", "compare the name: symbolic('vec', a.vec) <> 'TIMER'")
	f("select * from e where n == 'x'", "give the number")
	for _, fine := range []string{
		"select * from e where vec = 1", "select * from e where vec = '1'", "select * from e where comm = 'x'",
		"select * from e where symbolic('vec', vec) = 'TIMER'", "select comm as n from e where n = 'x'",
		"select * from e -- where n = 'x'", "select * from e where nosuch = 'x'",
	} {
		f(fine, "")
	}
	f("select * from e where n = 'x'", "", other) // it may be the other one's
}
