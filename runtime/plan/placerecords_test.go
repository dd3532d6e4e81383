package plan

import (
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/bpf/features"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
)

// largeEvent is a Catalog of one event with a large record.
type largeEvent struct{}

var largeSchema = &event.Schema{System: "sched", Name: "large", Type: 2, Size: 64, Fields: []event.Field{
	{Name: "common_flags", Type: "unsigned char", Offset: 2, Size: 1},
	{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Signed: true},
	{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
	{Name: "n", Type: "long", Offset: 16, Size: 8, Signed: true},
	{Name: "name", Type: "char[16]", Kind: event.Str, Offset: 24, Size: 16},
	{Name: "more", Type: "char[24]", Kind: event.Str, Offset: 40, Size: 24},
	{Name: "path", Type: "char[]", Kind: event.Str, Place: event.DataLoc, Offset: 12, Size: 4, Elem: 1},
}}

func (largeEvent) Find(s *Source) ([]*event.Schema, error) { return []*event.Schema{largeSchema}, nil }

func projectedPlan(t *testing.T, engine string, reports ...Report) *Plan {
	t.Helper()
	types := &bpf.Host{
		TaskFlags: features.TaskFlags{NeedResched: 3},
		Offset:    func(string, string) (int, bool) { return 8, true },
	}
	p, err := Build(reports, Env{
		Catalog: largeEvent{}, KernelEnv: placement.Env{Engine: engine, Host: types, Target: &bpf.Target{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func last(in Stream, of string) *Group {
	return &Group{In: in, Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: agg.List}, Arg: text(of)}}}
}

func TestProjectionPays(t *testing.T) {
	src := func() *Source { return &Source{Spec: eventspec.Spec{System: "sched", Name: "large"}} }
	f := func(why, sent string, reports ...Report) {
		t.Helper()
		p := projectedPlan(t, placement.EngineAuto, reports...)
		if p.Projection == nil {
			t.Errorf("got no projected records, %s: want %s", p.ProjectionNo, why)
			return
		}
		if !strings.Contains(p.Projection.Why, why) || p.Events[0].Projection != sent ||
			p.Events[0].Filter != "" {
			t.Errorf("got %q since %s, filter %q; want %q since %s", p.Events[0].Projection, p.Projection.Why,
				p.Events[0].Filter, sent, why)
		}
		if text := p.Explain(); !strings.Contains(text, "projected records since "+p.Projection.Why) ||
			!strings.Contains(text, sent) {
			t.Errorf("got\n%s\nwant it to say so", text)
		}
	}
	f("few fields", "id", last(src(), "id"))
	f("few fields", "id, if n > 3", last(&Where{src(), *text("n > 3")}, "id"))
	f("few fields", "no field", last(src(), "_time"))
	odd := &Where{src(), *text("n > id")}
	f("filters cannot express n > id", "id, name, if n > id", last(odd, "id"), last(odd, "name"))
	f("only programs see nr_running", "its record, if nr_running > 2",
		&Log{In: &Where{src(), *text("nr_running > 2")}})
	f("only programs see nr_running", "id, nr_running", last(src(), "nr_running + id"))

	no := func(engine string, reports ...Report) {
		t.Helper()
		if p := projectedPlan(t, engine, reports...); p.Projection != nil {
			t.Errorf("got projected records since %s", p.Projection.Why)
		}
	}
	no(placement.EnginePerf, last(src(), "id"))
	// all of it is in the kernel
	no(placement.EngineAuto, countedBy(src(), "id"))
	no(placement.EngineAuto, last(src(), "name"), last(src(), "n")) // not few
	// flags are shown
	no(placement.EngineAuto, &Log{In: &Where{src(), *text("n > id")}})
	// of no known size
	no(placement.EngineAuto, last(src(), "path"))
	sampled := &Source{Spec: eventspec.Spec{
		System: "sched", Name: "x", Sampling: eventspec.Sampling{Period: 9},
	}}
	no(placement.EngineAuto, last(sampled, "id"))
	if p := projectedPlan(t, placement.EngineBPF, last(src(), "name"),
		last(src(), "n")); p.Projection == nil ||
		p.Events[0].Projection != "n, name" {
		t.Errorf("engine bpf: got no projected records, %s", p.ProjectionNo)
	}
}

// Where names of threads are wanted, what tells them is sent as well.
func TestProjectionNames(t *testing.T) {
	schema := &event.Schema{System: "sched", Name: "woken", Type: 3, Size: 64, Fields: []event.Field{
		{Name: "comm", Type: "char[16]", Kind: event.Str, Offset: 8, Size: 16},
		{Name: "pid", Type: "int", Offset: 24, Size: 4, Signed: true},
		{Name: "n", Type: "long", Offset: 32, Size: 8, Signed: true},
	}}
	f := func(sent string, in Stream, of string) {
		t.Helper()
		p, err := Build([]Report{last(in, of)}, Env{
			Catalog:   namesOnly{schema},
			KernelEnv: placement.Env{Engine: placement.EngineBPF, Host: &bpf.Host{}, Target: &bpf.Target{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.Projection == nil || p.Events[0].Projection != sent {
			t.Errorf("got %q, want %q; %s", p.Events[0].Projection, sent, p.ProjectionNo)
		}
	}
	src := &Source{Spec: eventspec.Spec{System: "sched", Name: "woken"}}
	f("n", src, "n")
	f("comm, pid", src, "_comm")
}

// A namesOnly is a Catalog of one event.
type namesOnly struct{ schema *event.Schema }

func (c namesOnly) Find(*Source) ([]*event.Schema, error) { return []*event.Schema{c.schema}, nil }

// A predicate that only some readers have stays with them, and its fields are
// sent.
func TestProjectionSharedEvents(t *testing.T) {
	src := &Source{Spec: eventspec.Spec{System: "sched", Name: "large"}}
	p := projectedPlan(t, placement.EngineBPF, last(&Where{src, *text("n > id")}, "id"), last(src, "_time"))
	if p.Projection == nil || p.Events[0].Projection != "id, n" {
		t.Errorf("got %q, want both fields", p.Events[0].Projection)
	}
}
