package plan

import (
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
)

// Events that programs of other tools hide from perf are sent by programs of ours, unless the engine shall
// be perf; events that nobody hides come from perf.
func TestHiddenEventsAreSent(t *testing.T) {
	schema := &event.Schema{System: "sock", Name: "state", Type: 2, Size: 40, Fields: []event.Field{
		{Name: "id", Type: "int", Offset: 8, Size: 4, Signed: true},
		{Name: "n", Type: "long", Offset: 16, Size: 8, Signed: true},
		{Name: "name", Type: "char[16]", Kind: event.Str, Offset: 24, Size: 16},
	}}
	f := func(engine, who string, want bool) {
		t.Helper()
		src := func() *Source { return &Source{Spec: eventspec.Spec{System: "sock", Name: "state"}} }
		p, err := Build([]Report{last(src(), "id"), last(src(), "n"), last(src(), "name")}, Env{
			Catalog: namesOnly{schema},
			KernelEnv: placement.Env{Engine: engine, Host: &bpf.Host{}, Target: &bpf.Target{},
				Hiding: func(*event.Schema) string { return who }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Projection != nil; got != want {
			t.Errorf("engine %s, hidden by %q: got programs that send %v, want %v", engine, who, got, want)
		}
		if want && !strings.HasSuffix(p.Projection.Why, "hide from perf sock:state, by "+who) {
			t.Errorf("got the reason %q, want %q named", p.Projection.Why, who)
		}
	}
	f(placement.EngineAuto, "", false)
	f(placement.EngineAuto, "zero (program 3)", true)
	f(placement.EnginePerf, "zero (program 3)", false)
}
