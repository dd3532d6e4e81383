package plan

import (
	"strings"
	"testing"

	"ppscript/runtime/placement"
)

// joined is a join of the two stages of the made-up event.
func joined() Stream {
	stages := []Stream{&Where{made(), *text("n == 1")}, &Where{made(), *text("n == 2")}}
	return &Join{Stages: stages, Key: text("id")}
}

// Programs relate and count events, and send the pairs that somebody reads here.
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
	pairs, _ := p.Kernel.Image.Pairs()
	if len(pairs) != 1 || len(pairs[0].Ends.Copies) != 2 {
		t.Errorf("got pairs %+v, want one stream, with id and n of the end", pairs)
	}
	for _, feed := range p.feeds {
		if feed.op == Of[*HeatOp](p)[0] && len(feed.branches[0].preds) != 0 {
			t.Error("the predicate that programs check is checked again")
		}
	}

	// A line shows all of both events, which programs know of few.
	in = joined()
	log := &Log{In: &Where{in, *text("delay > 10")}}
	if p := f(placement.EngineAuto, "sched:made_up perf; sched:made_up perf; made_up => made_up native: "+
		"a program could, but takes all of a plan's operators or none; log native: a log shows events",
		log); p.Kernel != nil {
		t.Error("got programs that make lines without knowing all of their events")
	}
}

// What an operator outside reads of the events themselves keeps them from programs.
func TestCutNeedsPairs(t *testing.T) {
	src := made()
	in := &Join{
		Stages: []Stream{&Where{src, *text("n == 1")}, &Where{made(), *text("n == 2")}},
		Key:    text("id"),
	}
	p, err := kernelPlan(t, placement.EngineAuto, &Heat{In: in, Value: *text("end.n")},
		&Heat{In: src, Value: *text("n")})
	if err != nil || p.Kernel != nil {
		t.Errorf("got %v, %v, want a plan without programs", p.Kernel, err)
	}
}
