package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
)

// counter is a Machine that counts the events of a key and emits the count.
type counter struct {
	interpreted bool
	reads       []string
}

func (c *counter) Name() string                              { return "count" }
func (c *counter) Pos() string                               { return "x.star:5:1" }
func (c *counter) FlushPos() string                          { return "" }
func (c *counter) Bind([]*expr.Scope, *expr.Scope) error     { return nil }
func (*counter) Slot(string) (int, bool)                     { return 0, false }
func (*counter) Sources(int) []expr.Node                     { return []expr.Node{nil} }
func (c *counter) Initial() ([]int64, []string)              { return []int64{0}, nil }
func (c *counter) LowerFlush(*expr.Scope) (expr.Node, error) { panic("there is none") }
func (c *counter) RunFlush(*expr.Frame)                      { panic("there is none") }
func (c *counter) Reads() ([]string, bool)                   { return c.reads, true }
func (c *counter) Emits() []event.Field {
	return []event.Field{{Name: "nth", Kind: event.Int, Place: event.InSlot, Size: 8, Signed: true}}
}

func (c *counter) LowerStep(*expr.Scope) (expr.Node, error) {
	if c.interpreted {
		return nil, errors.New("x.star:6:3: stays interpreted: because")
	}
	n, err := expr.NewLoadState(0, expr.TInt)
	if err != nil {
		return nil, err
	}
	more, err := expr.PyBinary("+", n, expr.NewInt(1))
	if err != nil {
		return nil, err
	}
	st, err := expr.NewStoreState(0, more)
	if err != nil {
		return nil, err
	}
	em, err := expr.NewEmit(0, []string{"nth"}, n)
	return expr.NewBlock(st, em), err
}

func (c *counter) Run(f *expr.Frame) {
	f.State[0]++
	f.Emit(f, 0, []expr.Arg{{Kind: expr.Int, I: f.State[0]}})
}

func tally(in Stream, by ...string) *Group {
	g := &Group{In: in, Aggs: []AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
	for _, k := range by {
		g.By = append(g.By, Var{Name: k, Fn: *text(k)})
	}
	return g
}

func foldOf(in Stream, key string, m Machine) *Fold {
	return &Fold{In: in, Key: *text(key), Machine: m}
}

func TestFoldInBothEngines(t *testing.T) {
	for _, interpreted := range []bool{false, true} {
		f := foldOf(&Where{In: src("start"), Pred: *text("n > 0")}, "id", &counter{interpreted: interpreted})
		p := build(t, Env{Replay: true}, tally(f, "nth"))
		play(p, "start@1 7 1", "start@2 7 0", "start@3 7 1", "start@4 8 1")
		if got, want := rows(t, p, 0), "1 2; 2 1"; got != want {
			t.Errorf("interpreted %v: got %s, want %s", interpreted, got, want)
		}
		text := p.Explain()
		want := []string{"native      count at x.star:5:1"}
		if interpreted {
			want = []string{"interpreted count at x.star:5:1", "stays interpreted: because"}
		}
		for _, w := range append(want, "by id: 1 members, at most 1048576 keys") {
			if !strings.Contains(text, w) {
				t.Errorf("interpreted %v: want %q in\n%s", interpreted, w, text)
			}
		}
	}
}

func TestWhatFoldsNeed(t *testing.T) {
	f := func(key string, m *counter, order bool, want string) {
		t.Helper()
		p := build(t, Env{}, tally(foldOf(src("start"), key, m)))
		if got := fmt.Sprint(p.SampleMembers); got != want || p.Order != order {
			t.Errorf("by %s: got facts %s, order %v, want %s, %v", key, got, p.Order, want, order)
		}
	}
	members := func(fs ...event.Member) string { return fmt.Sprint(fs) }
	f("id", &counter{}, true, members(event.MemberTime))
	f("cpu", &counter{}, false, members(event.MemberTime, event.MemberCPU))
	f("id", &counter{
		interpreted: true,
		reads:       []string{"tid", "n"},
	}, true, members(event.MemberTime, event.MemberTID))
}

// What a fold emits and the events themselves come in time order where both go
// to one place.
func TestFoldBesideItsEvents(t *testing.T) {
	s := src("start")
	both := &Merge{In: []Stream{foldOf(s, "id", &counter{}), s}}
	p := build(t, Env{Replay: true}, &Log{In: both})
	var got []string
	Runs[*LogRun](p)[0].Emit = func(e *event.Event) {
		got = append(got, fmt.Sprintf("%s@%d", e.Stream.Schema.Name, e.Time))
	}
	play(p, "start@1 7 1", "start@2 7 1", "start@3 7 1")
	if s, want := strings.Join(got, " "), "count@1 start@1 count@2 start@2 count@3 start@3"; s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
