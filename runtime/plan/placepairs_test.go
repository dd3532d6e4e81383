package plan

import (
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/record/sent"
)

// joined is a join of the two stages of the made-up event.
func joined() Stream {
	stages := []Stream{&Where{made(), *text("n == 1")}, &Where{made(), *text("n == 2")}}
	return &Join{Stages: stages, Key: text("id")}
}

// TestCutBehindJoin checks that programs relate and count events, and send the pairs that somebody
// reads here.
func TestCutBehindJoin(t *testing.T) {
	f := func(engine, want string, reports ...Report) *Plan {
		t.Helper()
		p, err := kernelPlan(t, engine, reports...)
		if err != nil {
			t.Fatal(err)
		}
		if got := places(p); got != want {
			t.Errorf("got\n%s\nwant\n%s\n%s", got, want, p.Explain())
		}
		return p
	}
	const events = "sched:made_up kernel; sched:made_up kernel; made_up => made_up kernel; "
	in := joined()
	heat := &Heat{In: &Where{in, *text("delay > 10")}, Value: *text("end.n")}
	p := f(placement.EngineAuto, events+"table kernel; heatmap native: a heat map has every event",
		countedBy(in, "start.id"), heat)
	if !p.Kernel.Sends() || p.Projection != nil || p.KernelNo != "" {
		t.Errorf("got kernel %v, projection %v, want programs that send", p.Kernel, p.Projection)
	}
	if text := p.Explain(); !strings.Contains(text, "only what matches leaves it") ||
		!strings.Contains(text, "crosses         made_up => made_up to heatmap: about 0.") {
		t.Errorf("got\n%s\nwant what leaves the kernel", text)
	}
	// The key, and what the heat map reads; not what the table groups by alone.
	records, _ := p.Kernel.Image.Records()
	if len(records) != 1 || len(fieldsOf(&records[0], expr.End)) != 2 {
		t.Errorf("got records %+v, want one stream, with id and n of the end", records)
	}
	for _, feed := range p.feeds {
		if feed.op == Of[*HeatOp](p)[0] && len(feed.edges[0].Remaining) != 0 {
			t.Error("the predicate that programs check is checked again")
		}
	}

	// A line shows all of both events, and whether interrupts were disabled, which
	// programs do not know there.
	in = joined()
	log := &Log{In: &Where{in, *text("delay > 10")}}
	if p := f(placement.EngineAuto, "sched:made_up perf; sched:made_up perf; made_up => made_up native: "+
		"a program could, but what it makes cannot be sent: "+
		"only the record of sched:made_up tells whether interrupts were disabled, which lines show; "+
		"log native: a log shows events",
		log); p.Kernel != nil {
		t.Error("got programs that make lines without knowing all of their events")
	}
}

// TestCutBesideEvents checks that programs send the events that an operator outside reads itself,
// for which its conditions hold, unless it keeps state.
func TestCutBesideEvents(t *testing.T) {
	f := func(engine, want string, also func(src Stream) Report) *Plan {
		t.Helper()
		src := made()
		in := &Join{
			Stages: []Stream{&Where{src, *text("n == 1")}, &Where{made(), *text("n == 2")}},
			Key:    text("id"),
		}
		p, err := kernelPlan(t, engine, &Heat{In: in, Value: *text("end.n")}, also(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := places(p); got != want {
			t.Errorf("got\n%s\nwant\n%s\n%s", got, want, p.Explain())
		}
		return p
	}
	const heats = "sched:made_up kernel; sched:made_up kernel; made_up => made_up kernel; " +
		"heatmap native: a heat map has every event; heatmap2 native: a heat map has every event"
	some := func(src Stream) Report { return &Heat{In: &Where{src, *text("n > id")}, Value: *text("n")} }
	p := f(placement.EngineAuto, heats, some)
	if e := p.Events[0]; e.Projection != "id, n, if n > id" || e.Filter != "" ||
		p.Events[1].Projection != "" {
		t.Errorf("got %q sent, filter %q, and %q of the other; want what the second map reads",
			e.Projection, e.Filter, p.Events[1].Projection)
	}
	// A join here keeps state.
	reads := ": a program could, but made_up => made_up, which runs here, reads sched:made_up itself; "
	f(placement.EngineAuto, "sched:made_up perf; sched:made_up perf; sched:made_up perf; "+
		"made_up => made_up native"+reads+"heatmap native: a heat map has every event; "+
		"made_up => made_up native: a field of 4 bytes at 13 of the record; "+
		"table native: made_up => made_up comes from ppscript",
		func(src Stream) Report {
			return countedBy(&Join{Stages: []Stream{src, made()}, Key: text("odd")})
		})
}

// begun is a counter whose number may say when its state began.
type begun struct{ counter }

func (*begun) Slot(string) (int, bool) { return 0, true }

// TestCutBehindFold checks that programs run a fold, and send what it emits and a predicate behind
// it lets through.
func TestCutBehindFold(t *testing.T) {
	in := &Fold{In: made(), Key: *text("id"), Machine: &counter{}, Name: "seen", Limit: 64}
	plan := func(reports ...Report) (*Plan, error) {
		env := placement.Env{
			Engine: placement.EngineAuto,
			Host:   &bpf.Host{Atomics: true},
			Target: &bpf.Target{},
		}
		return Build(reports, Env{Catalog: oneEvent{}, KernelEnv: env})
	}
	p, err := plan(&Heat{In: &Where{in, *text("nth > 10")}, Value: *text("nth")}, countedBy(in, "nth"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "sched:made_up kernel; fold kernel; " +
		"heatmap native: a heat map has every event; table kernel"
	if got := places(p); got != want || !p.Kernel.Sends() {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, p.Explain())
	}
	emits, streams := p.Kernel.Image.Records()
	if len(emits) != 1 || emits[0].Label != "seen" || p.streams[streams[0]].Schema.Name != "seen" {
		t.Errorf("got %+v of %v, want the events of the fold", emits, streams)
	}
	// The value, and the key.
	e := &emits[0]
	if len(e.Columns) != 2 || len(fieldsOf(e, expr.Self)) != 1 || e.Columns[1].Origin != sent.Key {
		t.Errorf("got %+v, want n and id", e)
	}

	// One that keeps the event at which its state began has it here.
	in = &Fold{In: made(), Key: *text("id"), Machine: &begun{}, Begin: "n", Limit: 64}
	p, err = plan(&Heat{In: in, Value: *text("nth")})
	if err != nil || p.Kernel != nil {
		t.Errorf("got %v, %v, want a plan without programs", p.Kernel, err)
	}
}

// fieldsOf are the fields of a part that records have.
func fieldsOf(r *sent.Record, part expr.Part) (fields []sent.Column) {
	for _, c := range r.Columns {
		if c.Part == part && c.Origin == sent.Field {
			fields = append(fields, c)
		}
	}
	return fields
}
