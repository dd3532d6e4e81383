package sources

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/source/eventspec"
)

func TestShownAreLogsElseTables(t *testing.T) {
	a, b := &plan.Source{Spec: eventspec.Spec{Name: "start"}}, &plan.Source{Spec: eventspec.Spec{Name: "end"}}
	counted := func(s plan.Stream) plan.Report { return &plan.Group{In: s} }
	f := func(want []plan.Stream, reports ...plan.Report) {
		t.Helper()
		got := shownStreams(reports)
		if len(got) != len(want) {
			t.Fatalf("got %d streams, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("stream %d: got %v, want %v", i, got[i], want[i])
			}
		}
	}
	f([]plan.Stream{a}, &plan.Log{In: a}, counted(b))
	f([]plan.Stream{b}, counted(b), counted(b))
	f(nil, counted(&plan.Counters{In: []*plan.Source{a}}), &plan.Text{})
	only := plan.Fn{Text: "value"}
	counters := &plan.Where{In: &plan.Counters{In: []*plan.Source{a}}, Pred: only}
	f([]plan.Stream{b}, counted(counters), &plan.Log{In: b})
	slow := shownStreams([]plan.Report{&plan.Slow{In: a, Than: 5, Lower: 3}})[0].(*plan.Where)
	if slow.Pred.Text != "delay > 5 || delay < 3" {
		t.Errorf("got %s", slow.Pred.Text)
	}
}

func TestTextsAreThoseOfTables(t *testing.T) {
	g := &plan.Group{By: []plan.Var{{Name: "St", Fn: plan.Fn{Text: "state"}}}}
	g.View.Texts = map[string]view.CellFunc{"St": func(v event.Value) (string, error) {
		return "S" + v.String(), nil
	}}
	texts := shownTexts([]plan.Report{g, &plan.Text{}})
	if got, err := texts["state"](event.IntOf(3)); got != "S3" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
