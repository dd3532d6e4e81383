package plan

import (
	"testing"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
)

// Where perf delivers no events of the idle task of a CPU, programs send events that may happen there, and
// with --engine perf the plan says which are missing. Nobody asks for events that happen in other tasks
// alone, nor where programs do all of the work.
func TestEventsOfIdleTasks(t *testing.T) {
	f := func(system, name, engine, silent string, counts bool) (asked, projected bool, unseen string) {
		t.Helper()
		schema := &event.Schema{System: system, Name: name, Type: 2, Size: 40, Fields: []event.Field{
			{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
			{Name: "n", Type: "long", Offset: 16, Size: 8, Signed: true},
			{Name: "name", Type: "char[16]", Kind: event.Str, Offset: 24, Size: 16},
		}}
		src := func() *Source { return &Source{Spec: eventspec.Spec{System: system, Name: name}} }
		reports := []Report{last(src(), "id"), last(src(), "n"), last(src(), "name")}
		if counts {
			reports = []Report{countedBy(src(), "id")}
		}
		p, err := Build(reports, Env{
			Catalog: namesOnly{schema},
			KernelEnv: placement.Env{Engine: engine, Host: &bpf.Host{}, Target: &bpf.Target{},
				Idle: func() string { asked = true; return silent }},
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked, p.Projection != nil, p.UnseenIdle
	}
	auto, perf := placement.EngineAuto, placement.EnginePerf
	asked, projected, unseen := f("sched", "sched_switch", auto, "", false)
	if !asked || projected || unseen != "" {
		t.Errorf("all come: got %v, %v, %q, want perf's events", asked, projected, unseen)
	}
	if _, projected, unseen := f("sched", "sched_switch", auto, "CPU 1", false); !projected || unseen != "" {
		t.Errorf("none come on CPU 1: got %v, %q, want programs that send events", projected, unseen)
	}
	if _, projected, unseen := f("irq", "softirq_entry", perf, "CPU 1", false); projected ||
		unseen != "CPU 1" {
		t.Errorf("none come on CPU 1, engine perf: got %v, %q, want perf's events, and CPU 1", projected, unseen)
	}
	if asked, _, unseen := f("sched", "sched_process_fork", auto, "CPU 1", false); asked || unseen != "" {
		t.Errorf("events of other tasks: got %v, %q, want nobody who asks", asked, unseen)
	}
	if asked, _, unseen := f("sched", "sched_switch", auto, "CPU 1", true); asked || unseen != "" {
		t.Errorf("programs count: got %v, %q, want nobody who asks", asked, unseen)
	}
}
