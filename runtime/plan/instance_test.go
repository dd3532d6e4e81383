package plan

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// manyParts is a plan with operators of many kinds, all with a state.
func manyParts(t *testing.T) *Plan {
	t.Helper()
	s, e := src("start"), src("end")
	pairs := &Join{Stages: []Stream{s, e}, Key: text("id")}
	reports := []Report{
		delays(pairs),
		delays(&Join{Nested: true, Key: text("n"), Stages: []Stream{&Merge{In: []Stream{s, e}}}}),
		&Group{
			In:   &Unpaired{Of: pairs, Waiting: true},
			By:   []Var{{"reason", *text("reason")}},
			Aggs: []AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}},
		},
		tally(foldOf(s, "id", &counter{}), "nth"),
		counted(&Burst{In: s, Count: 2, WithinNS: 100, By: text("id")}),
		&Slow{In: pairs, Than: 3, Lower: -1, Detail: &Detail{}},
		&Log{In: &Where{In: s, Pred: *text("n / 2 > 2")}},
	}
	p, err := Build(reports, Env{Catalog: shelf{}, Replay: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// played is what an instance shows of the same events.
func played(t *testing.T, in *Instance) string {
	var shown []any
	Runs[*LogRun](in)[0].Emit = func(e *event.Event) { shown = append(shown, e.Time) }
	Runs[*SlowRun](in)[0].emit = func(d *result.Detail) { shown = append(shown, d.DelayNS(), len(d.Lines)) }
	for at := range 50 {
		play(in, fmt.Sprintf("start@%d %d %d", 10*at, at%3, at),
			fmt.Sprintf("end@%d %d %d", 10*at+at%7, at%4, at))
	}
	in.End(true, 0)
	for i := range Runs[*Table](in) {
		shown = append(shown, rows(t, in, i))
	}
	return fmt.Sprint(append(shown, in.Loss(), in.Router.Samples)...)
}

// Whatever ran before, and beside it, an instance begins at the beginning.
func TestInstancesShareNoState(t *testing.T) {
	p := manyParts(t)
	want := played(t, p.Instantiate())
	if got := played(t, p.Instantiate()); got != want {
		t.Errorf("second run: got\n%s\nwant\n%s", got, want)
	}

	var beside sync.WaitGroup
	for range 3 {
		beside.Go(func() {
			if got := played(t, p.Instantiate()); got != want {
				t.Errorf("beside others: got\n%s\nwant\n%s", got, want)
			}
		})
	}
	beside.Wait()
}

// A plan is a value: running it writes to nothing that can be reached from it.
func TestRunningChangesNoPlan(t *testing.T) {
	p := manyParts(t)
	before, text := contents(p), p.Explain()
	played(t, p.Instantiate())
	if after := contents(p); after != before || p.Explain() != text {
		t.Errorf("got another plan after a run: %d and %d bytes", len(before), len(after))
	}
}

// contents is all that can be reached from a value, but for what functions hold.
func contents(v any) string {
	var out []byte
	seen := map[uintptr]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Pointer()] {
				return
			}
			seen[v.Pointer()] = true
			walk(v.Elem())
		case reflect.Interface:
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			out = fmt.Appendf(out, "[%d]", v.Len())
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			out = fmt.Appendf(out, "{%d}", v.Len())
		case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float64,
			reflect.String:
			out = fmt.Appendf(out, "%v ", v)
		}
	}
	walk(reflect.ValueOf(v))
	return string(out)
}
