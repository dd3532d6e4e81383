package agg

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
)

// schema has a signed 32-bit id, a signed 64-bit val and an 8-byte name.
var schema = &event.Schema{System: "test", Name: "ev", Size: 20, Fields: []event.Field{
	{Name: "id", Type: "int", Size: 4, Signed: true},
	{Name: "val", Type: "long", Offset: 4, Size: 8, Signed: true},
	{Name: "name", Type: "char[8]", Kind: event.Str, Offset: 12, Size: 8},
}}

func ev(stream *event.Stream, at event.Time, id int32, val int64, name string) *event.Event {
	raw := make([]byte, 20)
	binary.LittleEndian.PutUint32(raw, uint32(id))
	binary.LittleEndian.PutUint64(raw[4:], uint64(val))
	copy(raw[12:], name)
	return &event.Event{Time: at, Stream: stream, Raw: raw}
}

var stream = &event.Stream{Index: 0, Schema: schema}

func fn(t testing.TB, texts ...string) *flow.Fn {
	t.Helper()
	var each []*expr.Program
	for _, text := range texts {
		p, err := cexpr.Compile(text, &expr.Scope{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		each = append(each, p)
	}
	sole := -1
	if len(each) == 1 {
		sole = 0
	}
	return flow.NewFn(each, sole)
}

// show prints rows in a comparable way.
func show(rows [][]event.Value) string {
	var lines []string
	for _, r := range rows {
		var cells []string
		for _, v := range r {
			cells = append(cells, v.String())
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

func TestEveryAggregator(t *testing.T) {
	g := New(Spec{
		Keys: []*flow.Fn{fn(t, "id")},
		Args: []Arg{{Fn: fn(t, "val")}, {Fn: fn(t, "val"), Where: fn(t, "val > 15")}, {Fn: fn(t, "name")}},
		Aggs: []Agg{
			{Op: Count},
			{Op: Sum},
			{Op: Min},
			{Op: Max},
			{Op: Avg},
			{Op: Quantile, Q: 0.5},
			{Op: Count, Arg: 1},
			{Op: First, Arg: 2},
			{Op: Last, Arg: 2},
			{Op: Distinct, Arg: 2},
			{Op: List},
		},
	})
	g.Events([]*event.Event{
		ev(stream, 1, 7, 10, "a"), ev(stream, 2, 7, 20, "b"), ev(stream, 3, 7, -31, "a"),
		ev(stream, 4, 9, 16, "z"),
	})
	want := "7 3 -1 -31 20 0 10 1 a a 2 (10, 20, -31); 9 1 16 16 16 16 16 1 z z 1 (16)"
	if got := show(g.Rows()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if g.events != 4 || !g.Loss().Zero() {
		t.Errorf("got %d seen, loss %+v, want 4 and none", g.events, g.Loss())
	}
	g.Reset()
	g.Events([]*event.Event{ev(stream, 5, 9, 1, "q")})
	if got, want := show(g.Rows()), "9 1 1 1 1 1 1 0 q q 1 (1)"; got != want {
		t.Errorf("after Reset: got %s, want %s", got, want)
	}
}

// A busy key has another row in each interval: not all rows stay as large as the
// busiest was once.
func TestIntervalsDoNotAddUp(t *testing.T) {
	g := New(Spec{
		Keys: []*flow.Fn{fn(t, "id")},
		Args: []Arg{{Fn: fn(t, "val")}},
		Aggs: []Agg{{Op: Quantile, Q: 0.5}},
	})
	const keys = 100
	one := 0
	for interval := range keys {
		for k := range int32(keys) {
			values := int32(1)
			if int(k) == interval {
				values = 500
			}
			for v := range values {
				g.Events([]*event.Event{ev(stream, event.Time(interval), k, int64(v)*1000, "")})
			}
		}
		if g.Reset(); interval == 0 {
			one = sketches(g)
		}
	}
	if got := sketches(g); one < 3000 || got > 2*one {
		t.Errorf("after %d intervals: got %d bytes, after one %d", keys, got, one)
	}
	// Rows that an interval did not need are given up.
	g.Events([]*event.Event{ev(stream, 1, 1, 1, "")})
	if g.Reset(); sketches(g) > 2000 {
		t.Errorf("after an interval with one key: got %d bytes", sketches(g))
	}
}

// sketches is the approximate memory of the quantiles of this interval's rows, and of those
// that wait for the next.
func sketches(g *Group) int {
	n := 0
	for _, state := range g.states[:cap(g.states)] {
		if q, ok := state.(*quantile); ok {
			s := &q.sketch
			n += int(unsafe.Sizeof(*s)) + 8*(cap(s.exact)+cap(s.pos.counts)+cap(s.neg.counts))
		}
	}
	return n
}

func TestKeysOfAllKinds(t *testing.T) {
	evs := []*event.Event{
		ev(stream, 1, 1, 0, "a"), ev(stream, 1, 1, 0, "b"), ev(stream, 1, 2, 0, "a"),
		ev(stream, 1, 1, 0, "a"),
	}
	for want, keys := range map[string][]*flow.Fn{
		"4":                   nil,
		"1 3; 2 1":            {fn(t, "id")},
		"a 3; b 1":            {fn(t, "name")},
		"1 a 2; 1 b 1; 2 a 1": {fn(t, "id"), fn(t, "name")},
		"a 1 2; a 2 1; b 1 1": {fn(t, "name"), fn(t, "id")},
	} {
		g := New(Spec{Keys: keys, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}})
		g.Events(evs)
		if got := show(g.Rows()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestOnlySomeStreamsContribute(t *testing.T) {
	other := &event.Stream{Index: 1, Schema: schema}
	g := New(Spec{
		Keys: []*flow.Fn{fn(t, "id", "id + 1")},
		Args: []Arg{{Only: []bool{true, false}}, {Fn: fn(t, "val", "val * 2"), Only: []bool{false, true}}},
		Aggs: []Agg{{Op: Count, Arg: 0}, {Op: Sum, Arg: 1}},
	})
	g.Events([]*event.Event{ev(stream, 1, 5, 100, ""), ev(other, 2, 4, 30, ""), ev(other, 3, 4, 1, "")})
	if got, want := show(g.Rows()), "5 1 62"; got != want {
		t.Errorf("got %s, want %s: keys of both streams meet, columns do not mix", got, want)
	}
}

func TestRowsAreBounded(t *testing.T) {
	g := New(Spec{Keys: []*flow.Fn{fn(t, "id")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}, Limit: 2})
	for id := range int32(5) {
		g.Events([]*event.Event{ev(stream, 1, id, 0, "")})
	}
	if got := show(g.Rows()); got != "0 1; 1 1" || g.Loss().Evicted != 3 {
		t.Errorf("got %s, evicted %d, want two rows and 3 evicted", got, g.Loss().Evicted)
	}
}

func TestFailedEvaluationsAreCounted(t *testing.T) {
	g := New(Spec{Keys: []*flow.Fn{fn(t, "100 / id")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}})
	g.Events([]*event.Event{ev(stream, 1, 0, 0, ""), ev(stream, 1, 10, 0, "")})
	if got := show(g.Rows()); got != "10 1" || g.Loss().Errors != 1 || g.Errors().First != expr.ErrDivide {
		t.Errorf("got %s, %d errors (%v), want 10 1 and one division by zero", got, g.Loss().Errors,
			g.Errors().First)
	}
	// What went wrong first is told when the run ends, behind the last table.
	if g.Reset(); g.Loss().Errors != 0 || g.Errors().First != expr.ErrDivide {
		t.Errorf("got %d errors (%v) of an empty group, want none and still the first", g.Loss().Errors,
			g.Errors().First)
	}
}

func TestHistogramBuckets(t *testing.T) {
	g := New(Spec{Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Hist}}})
	for _, v := range []int64{-5, 0, 1, 2, 3, 4, 1 << 40} {
		g.Events([]*event.Event{ev(stream, 1, 0, v, "")})
	}
	rows := g.Histograms(0)
	if len(rows) != 1 {
		t.Fatalf("got %d rows, want 1", len(rows))
	}
	got := map[string]uint64{}
	for _, b := range rows[0].Buckets {
		if b.Count > 0 {
			got[fmt.Sprintf("%d..%d", b.Lo, b.Hi)] = b.Count
		}
	}
	want := map[string]uint64{
		"-9223372036854775808..0":      1,
		"0..1":                         1,
		"1..2":                         1,
		"2..4":                         2,
		"4..8":                         1,
		"1099511627776..2199023255552": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	l := New(Spec{Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: LHist, Lo: 0, Hi: 25, Step: 10}}})
	for _, v := range []int64{-1, 0, 9, 10, 24, 25, 99} {
		l.Events([]*event.Event{ev(stream, 1, 0, v, "")})
	}
	var text []string
	for _, b := range l.Histograms(0)[0].Buckets {
		text = append(text, fmt.Sprintf("%d..%d:%d", b.Lo, b.Hi, b.Count))
	}
	wantText := "-9223372036854775808..0:1 0..10:2 10..20:1 20..25:1 25..9223372036854775807:2"
	if got := strings.Join(text, " "); got != wantText {
		t.Errorf("got %s, want %s", got, wantText)
	}
}

// TestEqualBucketsOfTheWholeRange checks that equal buckets may span all integers: their difference
// has no room in an int64.
func TestEqualBucketsOfTheWholeRange(t *testing.T) {
	l := New(Spec{Args: []Arg{{Fn: fn(t, "val")}},
		Aggs: []Agg{{Op: LHist, Lo: math.MinInt64, Hi: math.MaxInt64, Step: 1 << 62}}})
	for _, v := range []int64{math.MinInt64, -1, 0, 1 << 62, math.MaxInt64 - 1, math.MaxInt64} {
		l.Events([]*event.Event{ev(stream, 1, 0, v, "")})
	}
	var got []uint64
	for _, b := range l.Histograms(0)[0].Buckets {
		got = append(got, b.Count)
	}
	if want := []uint64{1, 1, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// batch is events with a few hundred keys, as a busy machine makes them.
func batch(n int) []*event.Event {
	r := rand.New(rand.NewSource(1))
	evs := make([]*event.Event, n)
	for i := range evs {
		evs[i] = ev(stream, event.Time(i), int32(r.Intn(300)), r.Int63n(1e6), "name")
	}
	return evs
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	evs := batch(256)
	for name, spec := range map[string]Spec{
		"count by integer": {Keys: []*flow.Fn{fn(t, "id")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}},
		"sums by two keys": {
			Keys: []*flow.Fn{fn(t, "name"), fn(t, "id")},
			Args: []Arg{{Fn: fn(t, "val")}},
			Aggs: []Agg{{Op: Sum}, {Op: Max}},
		},
		"quantile":  {Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Quantile, Q: 0.99}}},
		"histogram": {Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Hist}}},
	} {
		g := New(spec)
		for range 5 {
			g.Events(evs)
		}
		if n := testing.AllocsPerRun(20, func() { g.Events(evs) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, n)
		}
	}
}

func BenchmarkGroup(b *testing.B) {
	evs := batch(256)
	mixed := batch(256)
	for i, e := range mixed {
		*e = *ev(stream, e.Time, int32(i*7%16), 1, []string{"bash", "kworker/0:1", "sshd", "cat"}[i*5%4])
	}
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"count by integer", Spec{Keys: []*flow.Fn{fn(b, "id")},
			Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}},
		{"count by text", Spec{Keys: []*flow.Fn{fn(b, "name")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}},
		{"count by two", Spec{Keys: []*flow.Fn{fn(b, "name"), fn(b, "id")},
			Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}},
		{"mixed by text", Spec{Keys: []*flow.Fn{fn(b, "name")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}},
		{"mixed by two", Spec{Keys: []*flow.Fn{fn(b, "name"), fn(b, "id")},
			Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}},
		{"five columns", Spec{Keys: []*flow.Fn{fn(b, "id")}, Args: []Arg{{Fn: fn(b, "val")}},
			Aggs: []Agg{{Op: Count}, {Op: Sum}, {Op: Min}, {Op: Max}, {Op: Quantile, Q: 0.99}}}},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "_"), func(b *testing.B) {
			g, evs := New(c.spec), evs
			if strings.HasPrefix(c.name, "mixed") {
				evs = mixed
			}
			b.ReportAllocs()
			n := 0
			for n < b.N {
				g.Events(evs)
				n += len(evs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
			if g.events != uint64(n) {
				b.Fatalf("got %d events, want %d", g.events, n)
			}
		})
	}
}

// A condition that fails counts as an error, also where its value happens to
// be true.
func TestFailedConditionIsAnError(t *testing.T) {
	fails, err := expr.NewNative(expr.Native{Name: "fails", T: expr.TBool, Effect: true, HostOnly: "a test",
		Int: func(f *expr.Frame, _ []expr.Arg) int64 { f.Fail(expr.ErrOverflow); return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	where := flow.NewFn([]*expr.Program{expr.Build(fails)}, 0)
	g := New(Spec{Aggs: []Agg{{Op: Count}}, Args: []Arg{{Where: where}}})
	g.Events([]*event.Event{{Stream: &event.Stream{}}})
	if n, e := g.Rows()[0][0].Int(), g.Loss().Errors; n != 0 || e != 1 {
		t.Errorf("got %d events and %d errors, want 0 and 1", n, e)
	}
}
