package plan

import (
	"errors"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
)

// A slot in which an interval ends is in the next one, with both its parts.
func TestSlotsAreWhole(t *testing.T) {
	g := counted(&Let{In: src("start"), Vars: []Var{{"slot", *text("time / 10")}}}, "slot")
	g.View.Whole = &view.Whole{Column: "slot", Period: 10}
	p := build(t, Env{}, g)
	table := Runs[*Table](p)[0]
	f := func(until event.Time, want string) {
		t.Helper()
		table.Until = until
		if got := rows(t, p, 0); got != want {
			t.Errorf("until %d: got %s, want %s", until, got, want)
		}
		table.Group.Reset()
	}
	play(p, "start@1 1 4", "start@12 1 1", "start@19 1 1", "start@21 1 5")
	f(25, "0 1 4; 1 2 2")
	play(p, "start@26 1 6", "start@28 1 1", "start@33 1 7", "start@34 1 7", "start@41 1 3")
	f(40, "2 3 12; 3 2 14")
	f(45, "")
	play(p, "start@46 1 1")
	f(0, "4 2 4") // the last one shows what there is
	f(0, "")
}

// What has two parts must be the sum of them.
func TestSlotsAreSums(t *testing.T) {
	f := func(column string, op *agg.Op) {
		t.Helper()
		g := &Group{
			In:   src("start"),
			By:   []Var{{"slot", *text("time / 10")}},
			Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: op}, Arg: text("n")}},
		}
		g.View.Whole = &view.Whole{Column: column, Period: 10}
		_, err := Build([]Report{g}, Env{Catalog: shelf{}})
		var e *diag.Error
		if !errors.As(err, &e) || e.Op != "whole" || e.Hint == "" {
			t.Errorf("%s of %s: got %v, want an error of whole with a hint", op.Name, column, err)
		}
	}
	f("slot", agg.Max)
	f("x", agg.Sum)
}
