package plan

import (
	"testing"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/system/kernel"
)

// Where perf delivers no events of the idle task of a CPU, programs send events that may happen there, and
// with --engine perf the plan says which are missing. Nobody asks for events that happen in other tasks
// alone, nor where programs do all of the work.
func TestEventsOfIdleTasks(t *testing.T) {
	var silent map[kernel.IdlePart]string
	f := func(system, name, engine string, counts bool) (asked, projected bool, unseen string) {
		t.Helper()
		schema := &event.Schema{System: system, Name: name, Type: 2, Size: 40, Fields: []event.Field{
			{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
			{Name: "n", Type: "long", Offset: 16, Size: 8, Signed: true},
			{Name: "name", Type: "char[16]", Kind: event.Str, Offset: 24, Size: 16},
		}}
		src := func() *Source {
			s := eventspec.Spec{System: system, Name: name}
			if system == "software" {
				s.Kind, s.Exclude.Idle = eventspec.Software, engine == ""
			}
			return &Source{Spec: s}
		}
		reports := []Report{last(src(), "id"), last(src(), "n"), last(src(), "name")}
		if counts {
			reports = []Report{countedBy(src(), "id")}
		}
		p, err := Build(reports, Env{
			Catalog: namesOnly{schema},
			KernelEnv: placement.Env{Engine: engine, Host: &bpf.Host{}, Target: &bpf.Target{},
				Idle: func(part kernel.IdlePart) string { asked = true; return silent[part] }},
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked, p.Projection != nil, p.UnseenIdle
	}
	auto, perf := placement.EngineAuto, placement.EnginePerf
	asked, projected, unseen := f("sched", "sched_switch", auto, false)
	if !asked || projected || unseen != "" {
		t.Errorf("all come: got %v, %v, %q, want perf's events", asked, projected, unseen)
	}
	silent = map[kernel.IdlePart]string{kernel.IdleSwitches: "CPU 1"}
	if _, projected, unseen := f("sched", "sched_switch", auto, false); !projected || unseen != "" {
		t.Errorf("no switches on CPU 1: got %v, %q, want programs that send events", projected, unseen)
	}
	if _, projected, unseen := f("sched", "sched_switch", perf, false); projected ||
		unseen != "CPU 1: switches from it" {
		t.Errorf("no switches on CPU 1, engine perf: got %v, %q, want perf's events, and CPU 1", projected,
			unseen)
	}
	// Interrupts come there.
	asked, projected, unseen = f("irq", "softirq_entry", perf, false)
	if !asked || projected || unseen != "" {
		t.Errorf("no switches, interrupts: got %v, %v, %q, want perf's events", asked, projected, unseen)
	}
	silent = map[kernel.IdlePart]string{kernel.IdleInterrupts: "CPU 1", kernel.IdleSamples: "CPU 2"}
	if _, projected, unseen := f("sched", "sched_wakeup", auto, false); !projected || unseen != "" {
		t.Errorf("no wake-ups on CPU 1: got %v, %q, want programs that send events", projected, unseen)
	}
	if _, projected, unseen := f("irq", "softirq_entry", perf, false); projected ||
		unseen != "CPU 1: wake-ups in it" {
		t.Errorf("no wake-ups on CPU 1, engine perf: got %v, %q, want perf's events, and CPU 1", projected,
			unseen)
	}
	if asked, _, unseen := f("sched", "sched_process_fork", auto, false); asked || unseen != "" {
		t.Errorf("events of other tasks: got %v, %q, want nobody who asks", asked, unseen)
	}
	if asked, _, unseen := f("sched", "sched_wakeup", auto, true); asked || unseen != "" {
		t.Errorf("programs count: got %v, %q, want nobody who asks", asked, unseen)
	}
	// Samples come from perf, whichever operator takes them.
	for _, counts := range []bool{false, true} {
		if _, projected, unseen := f("software", "cpu-clock", auto, counts); projected ||
			unseen != "CPU 2: samples of it" {
			t.Errorf("no samples on CPU 2, counted %v: got %v, %q, want it told", counts, projected, unseen)
		}
		if asked, _, unseen := f("software", "cpu-clock", "", counts); asked || unseen != "" {
			t.Errorf("samples without the idle tasks: got %v, %q, want nobody who asks", asked, unseen)
		}
	}
}
