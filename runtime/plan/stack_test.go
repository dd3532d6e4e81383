package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/stack"
)

func TestOnlyEventsWhoseStackIsReadHaveOne(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      Report
		want    string
		members bool // beside the stack itself
	}{
		{"nobody", counted(&Merge{In: []Stream{src("start"), src("end")}}, "id"), "[false false]", false},
		{"key", counted(&Merge{In: []Stream{src("start"), &Where{In: src("end"), Pred: *text("n > 1")}}}, "stack"), "[true true]", true},
		{"one of a join", &Group{In: &Join{Stages: []Stream{&WithStack{In: src("start"), Spec: stack.Choice{Kernel: true}}, src("end")}, Key: text("id")},
			Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}}}, "[true false]", true},
		{"of a pair", &Group{In: &Join{Stages: []Stream{src("start"), src("end")}, Key: text("id")}, By: []Var{{"s", *text("start.stack")}},
			Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}}}, "[true true]", true},
		{"count by stack", &Stacks{In: src("start")}, "[true]", true},
	} {
		p := build(t, Env{}, c.in)
		var got []bool
		for _, e := range p.Events {
			got = append(got, e.Stack != nil)
		}
		if fmt.Sprint(got) != c.want || p.HasStacks != c.members {
			t.Errorf("%s: got events with stacks %v, %v; want %s", c.name, got, p.HasStacks, c.want)
		}
		if slices.Contains(p.SampleMembers, event.MemberCallchain) {
			t.Errorf("%s: stacks are asked for all events", c.name)
		}
	}
}

func TestExplainTellsStacks(t *testing.T) {
	p := build(t, Env{}, &Stacks{
		In:    &WithStack{In: src("start"), Spec: stack.Choice{User: true, Unwind: "dwarf"}},
		Value: text("n"),
		Name:  "n",
	})
	text := p.Explain()
	for _, want := range []string{
		"[with its call stack: user by unwind tables]", "by stack, pid, comm: count, sum of n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
}

func TestStackErrors(t *testing.T) {
	pairs := &Join{Stages: []Stream{src("start"), src("end")}, Key: text("id")}
	for name, r := range map[string]Report{
		"of pairs":    &Log{In: &WithStack{In: pairs, Spec: stack.Choice{Kernel: true}}},
		"of a number": &Stacks{In: src("start"), Stack: text("n")},
		"no field":    &Stacks{In: src("start"), Value: text("nosuch")},
	} {
		if _, err := Build([]Report{r}, Env{Catalog: shelf{}}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	p := build(t, Env{}, &Stacks{In: pairs})
	if Runs[*StacksRun](p)[0].Spec.Stack != nil || len(p.Events) != 2 || p.Events[0].Stack == nil {
		t.Error("stacks of pairs: want those of their starts")
	}
}

func TestBurstKeepsBusyTimes(t *testing.T) {
	p := build(t, Env{}, counted(&Burst{In: src("start"), Count: 3, WithinNS: 100, By: text("id")}))
	// the window of 1 ends at 110
	play(p, "start@10 1 1", "start@20 1 2", "start@25 2 3", "start@50 1 4", "start@109 1 5",
		"start@115 1 6", "start@116 1 7", "start@117 1 8", "start@300 1 9")
	// The third and fourth of 1, then the third of its next window.
	if got, want := rows(t, p, 0), "3 17"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !p.Order {
		t.Error("got no order, want time order: windows depend on it")
	}
}
