package plan

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/bpf/features"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
)

// clocks is a Catalog of an event without a record, and of one with.
type clocks struct{}

var clockSchema = &event.Schema{System: "software", Name: "cpu-clock", Type: 1}

var flagSchema = &event.Schema{System: "sched", Name: "flagged", Type: 2, Size: 16, Fields: []event.Field{
	{Name: "common_flags", Type: "unsigned char", Offset: 2, Size: 1},
	{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
}}

func (clocks) Find(s *Source) ([]*event.Schema, error) {
	if s.Kind == eventspec.Software {
		return []*event.Schema{clockSchema}, nil
	}
	return []*event.Schema{flagSchema}, nil
}

func contextPlan(host *bpf.Host, replay bool, reports ...Report) (*Plan, error) {
	return Build(reports, Env{
		Catalog: clocks{},
		Replay:  replay,
		KernelEnv: placement.Env{
			Engine: placement.EngineAuto,
			Host:   host,
			HostNo: "no privilege",
			Target: &bpf.Target{},
		},
	})
}

func clock() *Source {
	return &Source{Spec: eventspec.Spec{Kind: eventspec.Software, Name: "cpu-clock"}}
}

// Predicates on the moment of a sample are a program's; others stay.
func TestSampleFilter(t *testing.T) {
	types := &bpf.Host{
		TaskFlags: features.TaskFlags{NeedResched: 3},
		Offset:    func(string, string) (int, bool) { return 8, true },
	}
	in := &Where{&Where{clock(), *text("nr_running >= 2 && irqs_disabled == 0")}, *text("_pid != 7")}
	p, err := contextPlan(types, false, countedBy(in), &Log{In: in})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Events[0]; e.SampleFilter == nil ||
		e.SampleFilterText != "nr_running >= 2 && irqs_disabled == 0" || len(e.SampleFilter.Programs) != 1 {
		t.Errorf("got %q, want the predicate in a program", e.SampleFilterText)
	}
	if text := p.Explain(); !strings.Contains(text, "by a program in the kernel: nr_running >= 2") {
		t.Errorf("got\n%s\nwant the program in it", text)
	}
	bare := &bpf.Host{}
	f := func(host *bpf.Host, replay bool, r Report, want string) {
		t.Helper()
		if _, err := contextPlan(host, replay, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	f(nil, false, countedBy(in), "no privilege")
	f(types, true, countedBy(in), "recordings do not have it")
	f(bare, false, countedBy(in), "kernel's types do not show task_struct.se")
	f(bare, false, countedBy(&Where{clock(), *text("tif_need_resched")}), "not known")
	f(types, false, &Group{
		In:   clock(),
		Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: agg.List}, Arg: text("nr_running")}},
	}, "only a program in the kernel can tell")
	failing := &Log{In: &Where{clock(), *text("nr_running / (_pid - 1)")}}
	if p, err = contextPlan(types, false, failing); err != nil || p.Events[0].SampleFilter == nil ||
		len(p.Events[0].SampleFilter.Maps) != 1 {
		t.Errorf("got %v, want a program that counts what fails", err)
	}
	if p, err := contextPlan(types, false, countedBy(clock(), "nr_running")); err != nil || !p.OnlyKernel {
		t.Errorf("got %v, want a plan for the kernel alone", err)
	}
}

// The flags of a tracepoint's record tell two sample members, also of recordings.
func TestMomentOfTracepoints(t *testing.T) {
	in := &Where{
		&Source{Spec: eventspec.Spec{
			System: "sched", Name: "flagged",
		}}, *text("irqs_disabled && !tif_need_resched && id == 3"),
	}
	p, err := contextPlan(nil, false, &Log{In: in})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Events[0].Filter, "common_flags & 1 && !(common_flags & 4) && id == 3"; got != want {
		t.Errorf("got filter %q, want %q", got, want)
	}
	if p, err = contextPlan(nil, true, countedBy(in, "tif_need_resched", "irqs_disabled")); err != nil {
		t.Fatal(err)
	}
	var evs []*event.Event
	for _, flags := range []byte{1, 3, 5, 0, 4} {
		evs = append(evs, &event.Event{
			Stream: p.Events[0].Stream,
			Raw:    []byte{0, 0, flags, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0},
		})
	}
	run := p.Instantiate()
	run.Router.Events(evs)
	if got, want := rows(t, run, 0), "0 1 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTextsOfProcessesNeedPrograms checks that only programs read texts of a process: without them,
// a text that has nothing to stand for it is an error.
func TestTextsOfProcessesNeedPrograms(t *testing.T) {
	f := func(call, want string) {
		t.Helper()
		_, err := Build([]Report{countedBy(made(), call)}, Env{Catalog: oneEvent{}})
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
	f("user_string(n)", "only a program in the kernel reads texts of a process")
	f(`user_string(n, "?")`, "<nil>")
}
