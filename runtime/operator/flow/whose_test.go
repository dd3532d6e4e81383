package flow_test

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
)

func TestWhose(t *testing.T) {
	sc := &expr.Scope{Schema: &event.Schema{System: "t", Name: "switch", Fields: []event.Field{
		{Name: "next_pid", Type: "int", Size: 4, Signed: true}, {Name: "cpu", Type: "int", Offset: 4, Size: 4, Signed: true},
		{Name: "comm", Type: "char[16]", Kind: event.Str, Offset: 8, Size: 16}}}}
	for _, c := range []struct {
		keys []string
		want flow.Whom
	}{
		{[]string{"next_pid"}, flow.Thread},
		{[]string{"next_pid", "_tid"}, flow.Thread},
		{[]string{"_tid ? _tid : -1 - _cpu"}, flow.Thread},
		{[]string{"_pid"}, flow.Thread},
		{[]string{"_cpu"}, flow.Nobody},
		{[]string{"cpu"}, flow.Doer}, // of the record: it may be any number
		{[]string{"_cpu", "_tid"}, flow.Doer},
		{[]string{"next_pid", "cpu"}, flow.Doer},
		{[]string{"comm"}, flow.Doer},
		{[]string{"1"}, flow.Doer},
	} {
		var keys []*expr.Program
		for _, text := range c.keys {
			p, err := cexpr.Compile(text, sc)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, p)
		}
		if got := flow.SubjectOf(keys); got != c.want {
			t.Errorf("%v: got %d, want %d", c.keys, got, c.want)
		}
	}
}
