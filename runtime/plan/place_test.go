package plan

import (
	"strings"
	"testing"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
)

// places is where the parts of a plan run, and why.
func places(p *Plan) string {
	var list []string
	for _, part := range p.Graph.Nodes {
		s := part.Name + " " + part.Where.String()
		if part.Why != "" {
			s += ": " + part.Why
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

// TestPlacement checks that each part says where it runs, and what stands against it.
func TestPlacement(t *testing.T) {
	f := func(engine, want string, reports ...Report) *Plan {
		t.Helper()
		p, err := kernelPlan(t, engine, reports...)
		if err != nil {
			t.Fatal(err)
		}
		if got := places(p); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
		return p
	}
	const none = "sched:made_up perf; "
	could := func(reader string) string {
		return ": a program could, but " + reader + ", which runs here, reads sched:made_up itself"
	}
	f(placement.EngineAuto, "sched:made_up kernel; table kernel", countedBy(made()))
	f(placement.EnginePerf, none+"table native", countedBy(made()))
	pairs := &Join{Stages: []Stream{made(), made()}, Key: text("id")}
	f(placement.EngineAuto, "sched:made_up kernel; sched:made_up kernel; "+
		"made_up => made_up kernel; table kernel",
		countedBy(pairs))

	src := made()
	p := f(placement.EngineAuto, none+"table native"+could("log")+
		"; log native: a log shows events", countedBy(src),
		&Log{In: src})
	if text := p.Explain(); !strings.Contains(text, "native      log: a log shows events\n") ||
		!strings.Contains(text, "sched:made_up to log: about 100% of its events, 48 bytes of fields each\n") {
		t.Errorf("got\n%s\nwant it to say so", text)
	}
	// Of two, the one that no program can do the work of is blamed.
	src = made()
	f(placement.EngineAuto, none+"table native"+could("table2")+
		"; table2 native: a field of 4 bytes at 13 of the record",
		countedBy(src, "id"), countedBy(src, "odd"))
	f(placement.EngineAuto, "sched:made_up kernel; table native: list needs the events themselves",
		&Group{In: made(), Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: agg.List}, Arg: text("n")}}})
	f(placement.EngineAuto, none+none+
		"made_up => made_up native: a field of 4 bytes at 13 of the record; table native: made_up => made_up comes from ppscript",
		countedBy(&Join{Stages: []Stream{made(), made()}, Key: text("odd")}))
}

// What programs send crosses the edge; its reader runs here.
func TestPlacementOfRecords(t *testing.T) {
	p := projectedPlan(t, placement.EngineAuto,
		last(&Where{&Source{Spec: eventspec.Spec{System: "sched", Name: "large"}}, *text("n > id")}, "id"))
	if got, want := places(p),
		"sched:large kernel; table native: list needs the events themselves"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e := p.Graph.Edges[0]; !e.Crosses || e.Records != 0.5 || e.Bytes != 12 {
		t.Errorf("got %+v, want half of the events, and 12 bytes", e)
	}
	if text := p.Explain(); !strings.Contains(text,
		"kernel      sched:large: a program sends its records\n") {
		t.Errorf("got\n%s\nwant it to say so", text)
	}
}
