package plan

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/source/eventspec"
)

func idJoin(stages ...Stream) *Join { return &Join{Stages: stages, Key: text("id")} }

func delays(in Stream) *Group {
	return &Group{In: in, By: []Var{{"start", *text("start.event")}, {"end", *text("end.event")}},
		Aggs: []AggCol{
			{Name: "calls", Agg: agg.Agg{Op: agg.Count}},
			{Name: "total", Agg: agg.Agg{Op: agg.Sum}, Arg: text("delay")},
		}}
}

func TestMarksAreForTheJoinBehind(t *testing.T) {
	// Start's own key is n; ends may only end if n is even.
	j := &Join{Stages: []Stream{&Mark{In: src("start"), Key: text("n")}, &Mark{
		In:   src("end"),
		Key:  text("id"),
		Role: text("n & 1 ? 0 : 2"),
	}}}
	p := build(t, Env{}, delays(j))
	play(p, "start@10 9 7", "end@20 7 1", "end@30 7 2")
	if got, want := rows(t, p, 0), "start end 1 20"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAttributesOfEventStringsAreMarks(t *testing.T) {
	s, e := src("start"), src("end")
	s.Attrs = []eventspec.Attr{{Name: "key", Value: "n"}}
	e.Attrs = []eventspec.Attr{{Name: "key", Value: "id"}, {Name: "role", Value: "2"}}
	u := src("end")
	u.Attrs = []eventspec.Attr{{Name: "untraced", Value: ""}}
	p := build(t, Env{}, delays(&Join{Stages: []Stream{&Merge{In: []Stream{s, u}}, e}}))
	play(p, "start@10 9 7", "end@30 7 2")
	if got, want := rows(t, p, 0), "start end 1 20"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStageOfUntracedEventsIsAnError(t *testing.T) {
	_, err := Build([]Report{delays(idJoin(src("start"), &Mark{In: src("end"), Untraced: true}))},
		Env{Catalog: shelf{}})
	if err == nil || !strings.Contains(err.Error(), "untraced") {
		t.Errorf("got %v, want an error about untraced events", err)
	}
}

func TestUnpairedBesideItsPairs(t *testing.T) {
	j := idJoin(src("start"), src("end"))
	left := &Group{
		In: &Unpaired{Of: j, Waiting: true},
		By: []Var{{"event", *text("event")}, {"reason", *text("reason")}},
		Aggs: []AggCol{
			{Name: "n", Agg: agg.Agg{Op: agg.Count}},
			{Name: "age", Agg: agg.Agg{Op: agg.Sum}, Arg: text("age")},
			{Name: "v", Agg: agg.Agg{Op: agg.Sum}, Arg: text("start.n")},
		},
	}
	p := build(t, Env{}, delays(j), left)
	play(p, "start@10 1 5", "start@20 1 6", "end@30 1 7", "end@35 2 8", "start@40 3 9", "end@45 4 1")
	p.End(false, 0)
	if got, want := rows(t, p, 0), "start end 1 10"; got != want {
		t.Errorf("pairs: got %s, want %s", got, want)
	}
	if got, want := rows(t, p, 1),
		"start replaced 1 10 5; end alone 2 0 9; start waiting 1 5 9"; got != want {
		t.Errorf("unpaired: got %s, want %s", got, want)
	}
	if l := Runs[*JoinRun](p)[0].Loss(); l.Unmatched != 3 {
		t.Errorf("got %d unmatched, want 3", l.Unmatched)
	}
}

func TestPairsAndUnpairedInOneTable(t *testing.T) {
	j := idJoin(src("start"), src("end"))
	g := &Group{
		In: &Merge{In: []Stream{j, &Unpaired{Of: j, Waiting: true}}},
		By: []Var{{"start", *text("start.event")}, {"end", *text("end.event")},
			{"state", *text("reason")}},
		Aggs: []AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}},
	}
	p := build(t, Env{}, g)
	// Each interval tells what waits.
	play(p, "start@10 1 5", "start@20 2 6", "end@30 1 7")
	p.End(false, 0)
	if got, want := rows(t, p, 0), "start end paired 1; start  waiting 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	Runs[*Table](p)[0].Group.Reset()
	p.End(false, 0)
	if got, want := rows(t, p, 0), "start  waiting 1"; got != want {
		t.Errorf("second interval: got %s, want %s", got, want)
	}
}

func showSlow(p *Instance) *[]string {
	var got []string
	Runs[*SlowRun](p)[0].emit = func(d *result.Detail) {
		s := fmt.Sprintf("%s %s %d", d.Name, d.Pair, d.DelayNS())
		for _, l := range d.Lines {
			s += fmt.Sprintf(" %d", l.Event.Time)
		}
		got = append(got, s)
	}
	return &got
}

func TestSlowSeesWhatIsBetweenAndWhereComesFirst(t *testing.T) {
	j := idJoin(src("start"), src("end"))
	p := build(t, Env{}, &Slow{
		In:     &Where{In: j, Pred: *text("start.n == 5")},
		Than:   10,
		Lower:  -1,
		Detail: &Detail{Select: join.Select{}},
	}, delays(j))
	got := showSlow(p)
	play(p, "start@10 1 5", "start@15 2 6", "end@21 1 7", "end@40 2 8", "start@50 3 5", "end@60 3 1")
	if g, w := strings.Join(*got, "; "), "slow start => end 11 15"; g != w {
		t.Errorf("got %q, want %q", g, w)
	}
	if g, w := rows(t, p, 0), "start end 3 46"; g != w {
		t.Errorf("table: got %s, want %s", g, w)
	}
}

func TestSlowOfSomethingElseIsAnError(t *testing.T) {
	_, err := Build([]Report{&Slow{In: src("start"), Than: 1, Lower: -1}}, Env{Catalog: shelf{}})
	if err == nil || !strings.Contains(err.Error(), "not pairs") {
		t.Errorf("got %v, want an error that these are no pairs", err)
	}
}

func nested() *Join {
	return &Join{
		Nested: true,
		Key:    text("n"),
		Stages: []Stream{&Merge{In: []Stream{src("start"), src("end")}}},
	}
}

func TestCallsAreATree(t *testing.T) {
	j := nested()
	g := &Group{
		In:   j,
		Tree: true,
		By:   []Var{{"function call", *text("node")}},
		Aggs: []AggCol{{Name: "R", Agg: agg.Agg{Op: agg.Count}}, {Name: "calls", Agg: agg.Agg{Op: agg.Count}},
			{Name: "self", Agg: agg.Agg{Op: agg.Sum}, Arg: text("self")}},
	}
	p := build(t, Env{}, g)
	play(p, "start@10 1 7", "start@20 1 7", "end@30 1 7", "end@50 1 7", "start@60 1 8", "end@65 1 8")
	table, err := Runs[*Table](p)[0].Result(result.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rows(t, p, 0), "start R 3 45"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := table.Columns[0].Text(event.StrOf("a;b;c")), "  |   |-c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCallerThatHasNotReturnedHasARow(t *testing.T) {
	s, e := src("start"), src("end")
	inner := &Merge{In: []Stream{src("start"), src("end")}}
	j := &Join{
		Nested: true,
		Key:    text("id"),
		Stages: []Stream{&Merge{In: []Stream{
			&Where{In: s, Pred: *text("n == 1")}, &Where{In: e, Pred: *text("n == 1")},
		}},
			&Merge{In: []Stream{
				&Where{In: inner.In[0], Pred: *text("n == 2")},
				&Where{In: inner.In[1], Pred: *text("n == 2")},
			}}},
	}
	s.Alias, e.Alias = "outer", "outer_end"
	g := &Group{
		In:   j,
		Tree: true,
		By:   []Var{{"function call", *text("node")}},
		Aggs: []AggCol{
			{Name: "R", Agg: agg.Agg{Op: agg.Count}},
			{Name: "calls", Agg: agg.Agg{Op: agg.Count}},
		},
	}
	p := build(t, Env{Replay: true}, g)
	play(p, "start@10 1 1", "start@20 1 2", "end@30 1 2")
	if got, want := rows(t, p, 0), "outer  ; outer;start  1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStageOfCallsNeedsTwoEvents(t *testing.T) {
	_, err := Build([]Report{delays(&Join{Nested: true, Stages: []Stream{src("start")}})},
		Env{Catalog: shelf{}})
	if err == nil || !strings.Contains(err.Error(), "want an entry and its return") {
		t.Errorf("got %v, want an error about the missing return", err)
	}
}

func TestTriggerEndsTheIntervalBeforeItsEvent(t *testing.T) {
	s := src("start")
	p := build(t, Env{}, counted(&Merge{In: []Stream{s, &Mark{In: src("end"), Trigger: true}}}))
	var at []string
	Runs[*TriggerRun](p)[0].fire = func(e *event.Event) {
		at = append(at, fmt.Sprintf("%d: %s", e.Time, rows(t, p, 0)))
		Runs[*Table](p)[0].Group.Reset()
	}
	play(p, "start@1 1 4", "start@2 1 1", "end@3 1 100", "start@4 1 6", "end@5 1 200", "end@6 1 300")
	if got, want := strings.Join(at, "; "), "3: 2 5; 5: 2 106; 6: 1 200"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyIfShowsTheTableOnlyThen(t *testing.T) {
	g := delays(idJoin(src("start"), src("end")))
	g.Aggs = append(g.Aggs, AggCol{Name: "than", Agg: agg.Agg{Op: agg.Count}, Where: text("delay > 100")})
	g.View.OnlyIf = "than"
	p := build(t, Env{}, g)
	play(p, "start@10 1 1", "end@20 1 1")
	if got := rows(t, p, 0); got != "" {
		t.Errorf("got %s, want nothing", got)
	}
	play(p, "start@30 1 1", "end@300 1 1")
	if got, want := rows(t, p, 0), "start end 2 280 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStartsKeepOnlyWhatIsRead(t *testing.T) {
	f := func(want int, reports ...Report) {
		t.Helper()
		if got := Runs[*JoinRun](build(t, Env{}, reports...))[0].op.js.KeepRaw; got != want {
			t.Errorf("got %d bytes, want %d", got, want)
		}
	}
	j := func() Stream { return idJoin(src("start"), src("end")) }
	f(0, delays(j()))
	f(12, &Group{
		In:   j(),
		By:   []Var{{"n", *text("start.n")}},
		Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}},
	})
	f(4, &Group{
		In:   j(),
		By:   []Var{{"n", *text("start.id")}},
		Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}},
	})
	f(-1, delays(j()), &Log{In: j()})
}

func TestLossesReachTheJoin(t *testing.T) {
	p := build(t, Env{}, delays(idJoin(src("start"), src("end"))))
	play(p, "start@10 1 1")
	p.Router.Events([]*event.Event{{Kind: event.Lost, Time: 15, Count: 3, Ring: 1,
		Derived: &event.Derived{Slots: []event.Value{event.TimeOf(40)}}}})
	play(p, "end@20 1 1", "start@30 2 1", "end@50 2 1", "start@60 1 1", "end@61 1 1")
	if got, want := rows(t, p, 0), "start end 1 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnpairedStartsOnly(t *testing.T) {
	j := idJoin(src("start"), src("end"))
	count := func(u *Unpaired) *Group {
		u.Of = j
		return &Group{
			In:   u,
			By:   []Var{{"event", *text("event")}, {"reason", *text("reason")}},
			Aggs: []AggCol{{Name: "n", Agg: agg.Agg{Op: agg.Count}}},
		}
	}
	p := build(t, Env{}, count(&Unpaired{Starts: true}), count(&Unpaired{Ends: true}), count(&Unpaired{}))
	play(p, "start@10 1 5", "start@20 1 6", "end@35 2 8")
	p.End(true, 0)
	for i, want := range []string{
		"start replaced 1; start exit 1", "end alone 1", "start replaced 1; end alone 1; start exit 1",
	} {
		if got := rows(t, p, i); got != want {
			t.Errorf("table %d: got %s, want %s", i, got, want)
		}
	}
}

func TestUnfinishedStartsCanBeSlow(t *testing.T) {
	j := idJoin(src("start"), src("end"))
	p := build(t, Env{}, &Slow{In: &Unpaired{Of: j, Starts: true}, Than: 15, Lower: -1, Detail: &Detail{}})
	got := showSlow(p)
	play(p, "start@10 1 5", "start@20 2 6", "start@30 3 7")
	p.End(true, 0)
	if g, w := strings.Join(*got, "; "), "slow start 20 20 30"; g != w {
		t.Errorf("got %q, want %q", g, w)
	}
}

func TestInstanceColumnCanBeSorted(t *testing.T) {
	g := delays(&Join{Stages: []Stream{src("start"), src("end")}})
	g.By = append([]Var{{"CPU", *text(InstanceName)}}, g.By...)
	g.View.Steps = []view.Step{{Sort: "CPU", Reverse: true}}
	for byThread, want := range map[bool]string{
		true:  "2 start end 1 3; 1 start end 1 5",
		false: "1 start end 1 5",
	} {
		p := build(t, Env{ByThread: byThread}, g)
		if byThread {
			play(p, "start@10 1 5", "end@15 1 5", "start@20 2 5", "end@23 2 5")
		} else {
			play(p, "start@10 1 5", "end@15 2 5") // all on CPU 1
		}
		if got := rows(t, p, 0); got != want {
			t.Errorf("threads %v: got %s, want %s", byThread, got, want)
		}
	}
}
