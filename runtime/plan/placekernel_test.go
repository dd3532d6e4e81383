package plan

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/diag"
)

// oneEvent is a Catalog of one tracepoint as a program can read it: nothing is in
// the first eight bytes.
type oneEvent struct{}

var kernelSchema = &event.Schema{System: "sched", Name: "made_up", Type: 2, Size: 48, Fields: []event.Field{
	{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Signed: true},
	{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
	{Name: "odd", Type: "int", Offset: 13, Size: 4, Signed: true},
	{Name: "n", Type: "long", Offset: 24, Size: 8, Signed: true},
	{Name: "name", Type: "char[16]", Kind: event.Str, Offset: 32, Size: 16},
	{Name: "path", Type: "char[]", Kind: event.Str, Place: event.DataLoc, Offset: 20, Size: 4, Elem: 1},
}}

func (oneEvent) Find(s *Source) ([]*event.Schema, error) { return []*event.Schema{kernelSchema}, nil }

func kernelPlan(t *testing.T, engine string, reports ...Report) (*Plan, error) {
	t.Helper()
	return Build(reports, Env{
		Catalog:   oneEvent{},
		KernelEnv: placement.Env{Engine: engine, Host: &bpf.Host{}, Target: &bpf.Target{}},
	})
}

func made() *Source { return &Source{Spec: eventspec.Spec{System: "sched", Name: "made_up"}} }

func countedBy(in Stream, keys ...string) *Group {
	g := &Group{In: in, Aggs: []AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
	for _, k := range keys {
		g.By = append(g.By, Var{k, *text(k)})
	}
	return g
}

func TestPlacementFits(t *testing.T) {
	f := func(r Report) {
		t.Helper()
		p, err := kernelPlan(t, placement.EngineAuto, r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Kernel == nil || p.KernelNo != "" {
			t.Errorf("got no plan for the kernel: %s", p.KernelNo)
		} else if !strings.Contains(p.Explain(), "engine          bpf: ") {
			t.Errorf("got\n%s\nwant the engine in it", p.Explain())
		}
	}
	f(countedBy(made()))
	f(countedBy(made(), "id", "name", "_comm"))
	f(countedBy(&Where{
		made(), *text("id / n > 3 && name ~ \"a*\" && common_pid != 7 && name ~ \"*x?[a-c]*\""),
	}, "n % 10"))
	f(countedBy(&Join{
		Stages: []Stream{made(), made()},
		Key:    text("id"),
	}, "start.name", "end.id", "delay / 1000"))
	f(&Group{
		In: made(),
		Aggs: []AggCol{
			{Name: "p", Agg: agg.Agg{Op: agg.Quantile, Q: 0.5}, Arg: text("n")},
			{Name: "m", Agg: agg.Agg{Op: agg.Max}, Arg: text("n"), Where: text("id")},
		},
	})
}

func TestPlacementSaysWhyNot(t *testing.T) {
	f := func(why string, reports ...Report) {
		t.Helper()
		p, err := kernelPlan(t, placement.EngineAuto, reports...)
		if err != nil {
			t.Fatal(err)
		}
		if p.Kernel != nil || !strings.Contains(p.KernelNo, why) {
			t.Errorf("got %q, want %q", p.KernelNo, why)
		}
		if text := p.Explain(); !strings.Contains(text, "engine          perf: ") ||
			!strings.Contains(text, why) {
			t.Errorf("got\n%s\nwant the reason in it", text)
		}
		p, err = kernelPlan(t, placement.EngineBPF, reports...)
		if err == nil && p.Projection != nil {
			return // programs send the events, at least
		}
		if err == nil || diag.ClassOf(err) != diag.Usage || diag.HintOf(err) == "" ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want an error of use that says %q", err, why)
		}
		if p, err := kernelPlan(t, placement.EnginePerf, reports...); err != nil || p.Kernel != nil ||
			p.KernelNo != "" {
			t.Errorf("engine perf: got %v, %v, %q, want a plan without the kernel", err, p.Kernel, p.KernelNo)
		}
	}
	f("a log shows events", countedBy(made()), &Log{In: made()})
	f("a row of its own", countedBy(made(), "_time"))
	f("is sampled", countedBy(&Source{Spec: eventspec.Spec{
		System: "sched", Name: "made_up", Sampling: eventspec.Sampling{Freq: 100},
	}}))
	f("list needs the events", &Group{
		In:   made(),
		Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: agg.List}, Arg: text("n")}},
	})
	f("at 13 of the record", countedBy(made(), "odd"))
	f("a pattern of", countedBy(&Where{made(), *text("name ~ \"*[a-c]23456789012345678901234567890123*\"")}))
	f("unwind tables", countedBy(&WithStack{made(), stack.Choice{User: true, Unwind: "auto"}}, "stack"))
	f("excludes user or kernel", countedBy(&Source{Spec: eventspec.Spec{
		System: "sched", Name: "made_up",
		Sampling: eventspec.Sampling{Exclude: eventspec.Exclude{User: true}},
	}}))
}

// What the kernel cannot compute it groups by the numbers for it, and rows of
// one key add up.
func TestPlacementDefersKeys(t *testing.T) {
	services := &expr.Services{SyscallName: func(n int64) string { return []string{"even", "odd"}[n&1] }}
	g := countedBy(made(), "_comm", "syscall_name(id)", "n")
	p, err := Build([]Report{g}, Env{Catalog: oneEvent{}, Services: services,
		KernelEnv: placement.Env{Engine: placement.EngineBPF, Host: &bpf.Host{}, Target: &bpf.Target{}}})
	if err != nil {
		t.Fatal(err)
	}
	in := p.Instantiate()
	counts := p.Kernel.Image.Part.Edges[0].Group
	for id, comm := range []string{"a", "b", "a", "a"} {
		k := append(binary.LittleEndian.AppendUint32(nil, uint32(len(comm))), comm...)
		k = binary.LittleEndian.AppendUint64(k, uint64(id))
		k = binary.LittleEndian.AppendUint64(k, 7)
		part := &agg.Partial{Key: k, Hits: 10, Measures: []agg.Measure{{N: 10}}}
		if !in.Partial(counts, part) {
			t.Fatal("got no key")
		}
		Runs[*Table](in)[0].Group.AddPartial(part)
	}
	if got, want := rows(t, in, 0), "a even 7 20; b odd 7 10; a odd 7 10"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestProgramsTakeTheGraph checks that programs are generated of the edges of the plan's graph;
// only edges out of the kernel are added.
func TestProgramsTakeTheGraph(t *testing.T) {
	in := joined()
	heat := &Heat{In: &Where{in, *text("delay > 10")}, Value: *text("end.n")}
	p, err := kernelPlan(t, placement.EngineAuto, countedBy(in, "start.id"), heat)
	if err != nil || !p.Kernel.Sends() {
		t.Fatalf("got %v, %v, want programs that do a part", p, err)
	}
	inside, out := 0, 0
	for _, e := range p.Kernel.Image.Part.Edges {
		switch {
		case e.To == nil && e.Send != nil:
			out++
		case slices.Contains(p.Graph.Edges, e) && e.To.InKernel:
			inside++
		default:
			t.Errorf("got an edge of stream %d to %s, want one of the graph", e.Stream, e.Name)
		}
	}
	for _, e := range p.Kernel.Image.Part.Events {
		if !slices.Contains(p.Graph.Events, e) {
			t.Errorf("got %s, want an event of the graph", e.Label)
		}
	}
	if inside != 3 || out != 1 {
		t.Errorf("got %d edges inside and %d out of the kernel, want 3 and 1", inside, out)
	}
}

// A script that only calculates has nothing to run in the kernel.
func TestPlacementWithoutEvents(t *testing.T) {
	b := &builder{
		plan: &Plan{},
		env: Env{
			KernelEnv: placement.Env{Engine: placement.EngineAuto, Host: &bpf.Host{}, Target: &bpf.Target{}},
		},
	}
	for _, run := range []func() error{b.connect, b.place, b.settle} {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	if b.plan.Kernel != nil || b.plan.KernelNo == "" {
		t.Errorf("got %v, want a plan that is not for the kernel", b.plan.Kernel)
	}
}

// TestPlacementLongTexts checks that texts of any length are keys in the kernel. What takes them
// apart runs there only if somebody insists.
func TestPlacementLongTexts(t *testing.T) {
	f := func(by string, engine, no string) {
		t.Helper()
		p, err := kernelPlan(t, engine, countedBy(made(), by))
		if err != nil || (p.Kernel != nil) != (no == "") || !strings.Contains(p.KernelNo, no) {
			t.Errorf("%s: got %v, %q, want %q", by, err, p.KernelNo, no)
		}
	}
	f("path", placement.EngineAuto, "")
	f(`path == "/bin/sh"`, placement.EngineAuto, "")
	f(`path ~ "*.c"`, placement.EngineAuto, "")
	f(`path == "`+strings.Repeat("x", 200)+`"`, placement.EngineAuto, "path may be longer")
	f("path", placement.EngineBPF, "")
}
