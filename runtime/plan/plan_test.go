package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// shelf is a Catalog of two tracepoints.
type shelf struct{}

func (shelf) Find(s *Source) ([]*event.Schema, error) {
	var found []*event.Schema
	for _, sc := range []*event.Schema{startSchema, endSchema} {
		if s.System == sc.System && glob.Match(s.Name, sc.Name) {
			found = append(found, sc)
		}
	}
	if found == nil {
		return nil, diag.Errorf(diag.Attach, "event", s.FullName(), "no such event")
	}
	return found, nil
}

// aware is a shelf of a kernel that cannot be asked: of other events nothing is known.
type aware struct{ shelf }

func (a aware) Find(s *Source) ([]*event.Schema, error) {
	found, err := a.shelf.Find(s)
	if err != nil {
		err = &diag.Unverified{Feature: s.FullName(), Why: errors.New("not asked")}
	}
	return found, err
}

// A plan that is described leaves out the reports of events of which nothing is known; one that runs
// does not.
func TestUnverifiedReportsAreLeftOut(t *testing.T) {
	by := func(in Stream, field string) *Group {
		return &Group{In: in, By: []Var{{field, *text(field)}},
			Aggs: []AggCol{{Name: "n", Agg: agg.Agg{Op: agg.Count}}}}
	}
	optional := src("perhaps")
	optional.Optional = true
	reports := []Report{by(src("far"), "id"), by(src("start"), "id"), by(optional, "id"),
		by(&Merge{In: []Stream{src("end"), optional}}, "id")}
	p, err := Build(reports, Env{Catalog: aware{}, Describes: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"t:far: not verified here: not asked", "t:perhaps: not verified here: not asked"}
	if !slices.Equal(p.Unverified, want) || len(p.Events) != 2 || len(Of[*TableOp](p)) != 2 {
		t.Errorf("got %q, %d events and %d tables, want %q, 2 and 2", p.Unverified, len(p.Events),
			len(Of[*TableOp](p)), want)
	}
	if !strings.HasSuffix(p.Explain(), "left out        "+want[0]+"\nleft out        "+want[1]+"\n") {
		t.Errorf("got the description\n%s", p.Explain())
	}
	p, err = Build(reports[:1], Env{Catalog: aware{}, Describes: true})
	if err != nil || len(p.Unverified) != 1 {
		t.Errorf("of no other report: got %v, want a plan that names the event", err)
	}
	if _, err := Build(reports, Env{Catalog: aware{}}); err == nil || err.Error() != want[0] {
		t.Errorf("to run: got %v, want %s", err, want[0])
	}
	// What is wrong all the same is told.
	wrong := []Report{reports[0], by(src("start"), "di")}
	if _, err := Build(wrong, Env{Catalog: aware{}, Describes: true}); err == nil ||
		!strings.Contains(err.Error(), "unknown variable di") {
		t.Errorf("beside a mistake: got %v", err)
	}
}

func schemaOf(name string) *event.Schema {
	return &event.Schema{System: "t", Name: name, Type: 2, Size: 12, Fields: []event.Field{
		{Name: "id", Type: "int", Size: 4, Signed: true}, {Name: "n", Type: "long", Offset: 4, Size: 8, Signed: true}}}
}

var startSchema, endSchema = schemaOf("start"), schemaOf("end")

func src(name string) *Source { return &Source{Spec: eventspec.Spec{System: "t", Name: name}} }
func text(s string) *Fn       { return &Fn{Text: s, Pos: "x.star:1:2"} }

func build(t *testing.T, env Env, reports ...Report) *Instance {
	t.Helper()
	env.Catalog = shelf{}
	p, err := Build(reports, env)
	if err != nil {
		t.Fatal(err)
	}
	return p.Instantiate()
}

// play sends events, written "name@time id n", through the plan.
func play(p *Instance, lines ...string) {
	var evs []*event.Event
	for _, l := range lines {
		var name string
		var at, id, n int64
		fmt.Sscanf(strings.Replace(l, "@", " ", 1), "%s %d %d %d", &name, &at, &id, &n)
		for _, e := range p.Events {
			if e.Stream.Schema.Name == name {
				raw := binary.LittleEndian.AppendUint32(nil, uint32(id))
				raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
				evs = append(evs, &event.Event{
					Time:   event.Time(at),
					Stream: e.Stream,
					Raw:    raw,
					TID:    int32(id),
					CPU:    1,
				})
			}
		}
	}
	p.Router.Events(evs)
}

func rows(t *testing.T, p *Instance, i int) string {
	t.Helper()
	table, err := Runs[*Table](p)[i].Result(result.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range table.Rows {
		var cells []string
		for _, v := range r {
			cells = append(cells, v.String())
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return strings.Join(lines, "; ")
}

func counted(in Stream, by ...string) *Group {
	g := &Group{
		In: in,
		Aggs: []AggCol{
			{Name: "count", Agg: agg.Agg{Op: agg.Count}},
			{Name: "sum", Agg: agg.Agg{Op: agg.Sum}, Arg: text("n")},
		},
	}
	for _, k := range by {
		g.By = append(g.By, Var{Name: k, Fn: *text(k)})
	}
	return g
}

func TestMergedBranchesKeepTheirPredicates(t *testing.T) {
	s, e := src("start"), src("end")
	p := build(t, Env{}, counted(&Merge{In: []Stream{&Where{In: s, Pred: *text("n / 2 > 2")}, e}}, "event"))
	play(p, "start@1 1 4", "end@2 1 1", "start@3 1 6", "start@4 1 10")
	if got, want := rows(t, p, 0), "end 1 1; start 2 16"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLetsAreNamesForEverythingBehind(t *testing.T) {
	l := &Let{In: src("start"), Vars: []Var{{"half", *text("n / 2")}, {"odd", *text("half & 1")}}}
	p := build(t, Env{}, &Group{In: &Where{In: l, Pred: *text("odd")}, By: []Var{{"half", *text("half")}},
		Aggs: []AggCol{{Name: "s", Agg: agg.Agg{Op: agg.Sum}, Arg: text("half * 10")}}})
	play(p, "start@1 1 6", "start@2 1 8", "start@3 1 7")
	if got, want := rows(t, p, 0), "3 60"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJoinPairsAndPartsWithLets(t *testing.T) {
	start := &Let{In: src("start"), Vars: []Var{{"kind", *text("n % 10")}}}
	j := &Join{Stages: []Stream{start, src("end")}, Key: text("id")}
	p := build(t, Env{}, &Group{In: j, By: []Var{{"kind", *text("start.kind")}}, Aggs: []AggCol{
		{Name: "calls", Agg: agg.Agg{Op: agg.Count}}, {Name: "total", Agg: agg.Agg{Op: agg.Sum}, Arg: text("delay")}, {Name: "n", Agg: agg.Agg{Op: agg.Sum}, Arg: text("end.n - start.n")}}})
	play(p, "start@10 1 13", "start@11 2 25", "end@15 1 20", "end@31 2 30", "end@40 9 1", "start@50 3 3")
	if got, want := rows(t, p, 0), "3 1 5 7; 5 1 20 5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !p.Order || !strings.Contains(p.OrderWhy, "join") {
		t.Errorf("got order %v (%s), want it because of the join", p.Order, p.OrderWhy)
	}
}

func TestTheSameEventTwiceIsOpenedTwice(t *testing.T) {
	s := src("start")
	p := build(t, Env{Replay: true}, counted(&Merge{In: []Stream{
		&Where{In: s, Pred: *text("n > 5")}, &Where{In: s, Pred: *text("n < 3")},
	}}))
	if len(p.Events) != 2 {
		t.Fatalf("got %d events to open, want 2: each use has its own predicate", len(p.Events))
	}
	play(p, "start@1 1 1", "start@2 1 4", "start@3 1 9")
	// Both streams get all three events here; each predicate takes its own.
	if got, want := rows(t, p, 0), "2 10"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPredicatesMoveIntoTheKernel(t *testing.T) {
	s := &Source{Spec: eventspec.Spec{System: "t", Name: "start", Filter: "id != 7"}}
	p := build(t, Env{}, counted(&Where{In: s, Pred: *text("n > 5 && id % 2 == 1")}))
	if got, want := p.Events[0].Filter, "(id != 7) && (n > 5)"; got != want {
		t.Errorf("got filter %s, want %s", got, want)
	}
	play(p, "start@1 1 9", "start@2 2 9")
	if got, want := rows(t, p, 0), "1 9"; got != want {
		t.Errorf("got %s, want %s: what the kernel cannot do stays", got, want)
	}
	// Another reader of the same events must get them all.
	p = build(t, Env{}, counted(&Where{In: s, Pred: *text("n > 5")}), counted(s))
	if got, want := p.Events[0].Filter, "id != 7"; got != want {
		t.Errorf("two readers: got filter %s, want %s", got, want)
	}
}

func TestReplayFiltersNatively(t *testing.T) {
	s := &Source{Spec: eventspec.Spec{System: "t", Name: "start", Filter: "n > 5"}}
	p := build(t, Env{Replay: true}, counted(s))
	play(p, "start@1 1 9", "start@2 2 1")
	if got := rows(t, p, 0); got != "1 9" || p.Events[0].Filter != "" {
		t.Errorf("got %s with kernel filter %q, want 1 9 and none", got, p.Events[0].Filter)
	}
}

func TestOnlyWhatIsReadIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      Report
		members string
		raw     bool
		order   bool
	}{
		{"count", &Group{In: src("start"), Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}}}, "[]", false, false},
		{"by field", counted(src("start"), "id"), "[]", true, false},
		{"by thread", &Group{In: src("start"), By: []Var{{"tid", *text("tid")}}, Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}}},
			fmt.Sprint([]event.Member{event.MemberTID}), false, false},
		{"log", &Log{In: src("start")}, fmt.Sprint([]event.Member{event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberComm}), true, true},
		{"list", &Group{In: src("start"), Aggs: []AggCol{{Name: "l", Agg: agg.Agg{Op: agg.List}, Arg: text("n")}}},
			fmt.Sprint([]event.Member{event.MemberTime}), true, true},
	} {
		p := build(t, Env{}, c.in)
		if got := fmt.Sprint(p.SampleMembers); got != c.members || p.Events[0].NoRaw == c.raw ||
			p.Order != c.order {
			t.Errorf("%s: got facts %s, no raw %v, order %v; want %s, %v, %v", c.name, got, p.Events[0].NoRaw,
				p.Order, c.members, !c.raw, c.order)
		}
	}
}

func TestColumnsOfSomeStreamsOnly(t *testing.T) {
	s, e := src("start"), src("end")
	g := &Group{
		In: &Merge{In: []Stream{
			&Let{In: s, Vars: []Var{{"k", *text("id")}}}, &Let{In: e, Vars: []Var{{"k", *text("n")}}},
		}},
		By: []Var{{"k", *text("k")}},
		Aggs: []AggCol{
			{Name: "starts", Agg: agg.Agg{Op: agg.Count}, Of: s},
			{Name: "ends", Agg: agg.Agg{Op: agg.Count}, Of: e},
			{Name: "sum", Agg: agg.Agg{Op: agg.Sum}, Arg: text("n"), Of: s},
		},
	}
	p := build(t, Env{}, g)
	play(p, "start@1 5 100", "end@2 9 5", "end@3 9 5")
	if got, want := rows(t, p, 0), "5 1 2 100"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorsNameTheScript(t *testing.T) {
	for _, c := range []struct {
		in   Report
		want string
	}{
		{counted(src("start"), "idd"), "idd"},
		{counted(src("nosuch")), "no such event"},
		{&Group{In: src("start"), Aggs: []AggCol{{Name: "s", Agg: agg.Agg{Op: agg.Sum}, Arg: text(`"text"`), Pos: "x"}}}, "want a number"},
		{&Group{In: &Join{Stages: []Stream{src("start")}}, Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}}}}, "at least two"},
		{&Group{In: src("start"), Aggs: []AggCol{{Name: "c", Agg: agg.Agg{Op: agg.Count}, Of: src("end"), Pos: "x"}}}, "not part of the group"},
	} {
		_, err := Build([]Report{c.in}, Env{Catalog: shelf{}})
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

func TestViewSteps(t *testing.T) {
	g := counted(src("start"), "id")
	g.View = view.View{
		Steps: []view.Step{{Sort: "sum", Reverse: true}, {Sort: "id"}, {
			With: "twice",
			Fn: func(names []string, row []event.Value) (event.Value, error) {
				return event.IntOf(2 * row[2].Int()), nil
			},
		}, {Top: 2}},
		ColumnViews: view.ColumnViews{Hidden: map[string]bool{"count": true}, Last: "id"},
	}
	p := build(t, Env{}, g)
	play(p, "start@1 3 10", "start@2 1 10", "start@3 2 50")
	if got, want := rows(t, p, 0), "50 100 2; 10 20 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExplainTellsTheEngines(t *testing.T) {
	p := build(t, Env{}, &Log{In: &Where{In: src("start"), Pred: *text("n % 3 == 1")}})
	got := p.Explain()
	for _, want := range []string{"t:start", "native      n % 3 == 1", "order           by time", "log"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%swant a line with %q", got, want)
		}
	}
}

// slow is a function that stays interpreted.
type slow struct {
	fn func(e *event.Event) event.Value
}

func (s slow) Name() string              { return "slow" }
func (s slow) Pos() string               { return "x.star:9:1" }
func (s slow) Check([]*expr.Scope) error { return nil }
func (s slow) Lower(*expr.Scope, expr.Kind) (expr.Node, error) {
	return nil, errors.New("x.star:9:1: stays interpreted: a loop")
}
func (s slow) Call(e *event.Event) (event.Value, error) { return s.fn(e), nil }

func TestInterpretedFunctionsWorkEverywhere(t *testing.T) {
	id := slow{func(e *event.Event) event.Value { return event.IntOf(int64(e.TID)) }}
	odd := slow{func(e *event.Event) event.Value { return event.BoolOf(e.TID%2 == 1) }}
	name := slow{func(e *event.Event) event.Value { return event.StrOf(fmt.Sprint("t", e.TID)) }}
	p := build(t, Env{}, &Group{
		In:   &Where{In: src("start"), Pred: Fn{Call: odd}},
		By:   []Var{{"name", Fn{Call: name}}},
		Aggs: []AggCol{{Name: "sum", Agg: agg.Agg{Op: agg.Sum}, Arg: &Fn{Call: id}}},
	})
	play(p, "start@1 3 0", "start@2 4 0", "start@3 3 0", "start@4 5 0")
	if got, want := rows(t, p, 0), "t3 6; t5 5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := p.Explain(); !strings.Contains(got, "interpreted slow at x.star:9:1") ||
		!strings.Contains(got, "a loop") {
		t.Errorf("got\n%swant the function and the reason", got)
	}
}
