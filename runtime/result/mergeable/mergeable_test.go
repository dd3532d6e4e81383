package mergeable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

var form = Form{
	Columns: []result.Column{
		{Name: "comm", Kind: result.KeyColumn, Left: true, Width: 16, Prec: -1},
		{Name: "calls", Prec: -1, Merging: result.Added},
		{Name: "p99", Prec: -1, Unit: unit.US},
	},
	Keys: 1, Args: 1,
	Aggs: []agg.Agg{{Op: agg.Count},
		{Op: agg.Quantile, Q: 0.99, Type: event.Type{Kind: event.TypeInt, Unit: event.Nanos}}},
}

// frameOf is a frame of a host with rows of random numbers.
func frameOf(host string, r *rand.Rand, rows int) *Frame {
	u := agg.NewUnion(form.Aggs, 1, 0)
	for range rows {
		v := r.Int64N(1e6) - 1000
		key := []event.Value{event.StrOf(fmt.Sprint("thread", r.IntN(max(1, rows/4))))}
		n := event.IntNumber(v)
		c := agg.Content{N: 1, Values: []event.Number{n}, Least: n, Greatest: n}
		_ = u.Add(&agg.Row{Key: key, Measures: []agg.Measure{agg.NewMeasure(1, agg.TotalOf(n), n, n)},
			Contents: []agg.Content{c}})
	}
	own := form
	res := Result{Kind: Table, Name: "table", Samples: uint64(rows), Loss: event.Loss{Lost: 3}, Form: &own}
	for row := range u.Parts {
		res.Rows = append(res.Rows, Row{Row: *row})
	}
	f := &Frame{Host: host, Seq: 1, Begin: 1e9, End: 2e9, Results: []Result{res}}
	stacks := &result.Stacks{Keys: []result.Column{{Name: "comm", Kind: result.KeyColumn, Prec: -1}}}
	for i := range 5 {
		frames := []*result.Frame{{Symbol: fmt.Sprint("f", i%2), DSO: "/bin/x"}, {Symbol: "main", Line: 7}}
		stacks.Samples = append(stacks.Samples, result.StackSample{PID: -1, Count: uint64(1 + i),
			Key: []event.Value{event.StrOf("a")}, CallStack: result.CallStack{Frames: frames}})
	}
	f.Results = append(f.Results, Result{Kind: Stacks, Name: "stacks", Stacks: stacks},
		Result{Kind: Lines, Name: "log", Lines: []string{"one", "two"}, Omitted: 1})
	return f
}

func TestFramesComeBackAsTheyWere(t *testing.T) {
	f := frameOf("web-1", rand.New(rand.NewPCG(1, 2)), 300)
	f.Script[3], f.Final = 9, true
	f.Results[0].Rows[0].Names = []string{"NAME"}
	f.Results[0].Rows[1].Key[0] = event.ListOf(event.IntOf(-5), event.FloatOf(0.5), event.DurationOf(3),
		event.Value{})
	got, err := Decode(f.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if again := got.Append(nil); !bytes.Equal(again, f.Append(nil)) {
		t.Error("what was read is written differently")
	}
	if !reflect.DeepEqual(got.Results[0], f.Results[0]) {
		t.Errorf("got %+v\nwant %+v", got.Results[0].Rows[:2], f.Results[0].Rows[:2])
	}
}

// windowText is the text that a window shows.
func windowText(t *testing.T, w *Window) string {
	t.Helper()
	var b strings.Builder
	r, err := render.New(&b, render.Options{Location: time.UTC, Clock: func(at event.Time) time.Time {
		return time.Unix(0, int64(at))
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Show(r, About{Begin: time.Unix(1, 0), End: time.Unix(2, 0)})
	if err := errors.Join(err, r.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The order in which frames come does not count, nor in how many parts they come.
func TestWindowsAreTheSameInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var frames []*Frame
	for i := range 7 {
		frames = append(frames, frameOf(fmt.Sprint("host", i), r, 400))
	}
	want := ""
	for round := range 6 {
		r.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
		w := NewMerger(nil).NewWindow()
		for _, f := range frames {
			for part := range f.split {
				own, err := Decode(part.Append(nil))
				if err == nil {
					err = w.Add(own)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		got := windowText(t, w)
		if round == 0 {
			want = got
		}
		if got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	}
	for _, part := range []string{"thread7 ", "lost 21 events", "main", "host3: two", "host3: 1 more"} {
		if !strings.Contains(want, part) {
			t.Errorf("no %q in %s", part, want)
		}
	}
}

func TestLongFramesAreSplit(t *testing.T) {
	f := frameOf("big", rand.New(rand.NewPCG(5, 6)), 60000)
	var sum, lost, rows uint64
	parts := 0
	for part := range f.split {
		b := part.Append(nil)
		parts++
		if len(b) > MaxFrame {
			t.Errorf("part %d has %d bytes", parts, len(b))
		}
		for _, r := range part.Results {
			sum += r.Samples
			lost += r.Loss.Lost
			rows += uint64(len(r.Rows))
		}
		if last := part.Results[len(part.Results)-1].Kind == Lines; part.More == last {
			t.Errorf("part %d: more is %v", parts, part.More)
		}
	}
	if parts < 2 || sum != 60000 || lost != 3 || rows != uint64(len(f.Results[0].Rows)) {
		t.Errorf("got %d parts, %d samples, %d lost, %d rows", parts, sum, lost, rows)
	}
}

// Machines that run another version of a script are not added up with the others.
func TestOtherColumnsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	w := NewMerger(nil).NewWindow()
	if err := w.Add(frameOf("a", r, 10)); err != nil {
		t.Fatal(err)
	}
	other := frameOf("b", r, 10)
	own := *other.Results[0].Form
	own.Aggs = slices.Clone(own.Aggs)
	own.Aggs[1].Q = 0.5
	other.Results[0].Form = &own
	before := windowText(t, w)
	if err := w.Add(other); err == nil || windowText(t, w) != before {
		t.Errorf("another quantile: got error %v", err)
	}
}

func TestByHostKeepsHostsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	m := NewMerger(nil)
	m.ByHost = true
	w := m.NewWindow()
	for _, host := range []string{"a", "b"} {
		if err := w.Add(frameOf(host, r, 4)); err != nil {
			t.Fatal(err)
		}
	}
	text := windowText(t, w)
	for _, part := range []string{"host             comm", "\nb                thread0"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}

func TestStreamsAreRead(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	f := frameOf("a", rand.New(rand.NewPCG(1, 1)), 9)
	for range 3 {
		if err := w.write(f); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	r := NewReader(bytes.NewReader(whole))
	for i := range 3 {
		if got, err := r.Next(); err != nil || got.Seq != uint64(i+1) {
			t.Fatalf("frame %d: got %v, error %v", i, got, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: got %v", err)
	}
	r = NewReader(bytes.NewReader(whole[:len(whole)-3]))
	_, _ = r.Next()
	_, _ = r.Next()
	if _, err := r.Next(); !errors.Is(err, errForm) {
		t.Errorf("cut: got %v", err)
	}
}

// FuzzDecode: whatever comes, it is refused, or can be put together, shown and sent on.
func FuzzDecode(f *testing.F) {
	f.Add(frameOf("a", rand.New(rand.NewPCG(1, 1)), 9).Append(nil))
	f.Add([]byte{8, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := Decode(b)
		if err != nil {
			if frame != nil {
				t.Error("got a frame and an error")
			}
			return
		}
		if _, err := Decode(frame.Append(nil)); err != nil && len(b) < MaxFrame/4 {
			t.Errorf("what was read cannot be read again: %v", err)
		}
		w := NewMerger(nil).NewWindow()
		if w.Add(frame) == nil {
			windowText(t, w)
		}
	})
}

// Garbage is refused, and what is half garbage never panics.
func TestGarbageIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	whole := frameOf("a", r, 40).Append(nil)
	good := 0
	for i := range 10000 {
		var b []byte
		if i%2 == 0 {
			b = make([]byte, r.IntN(300))
			for j := range b {
				b[j] = byte(r.Uint32())
			}
		} else {
			b = slices.Clone(whole)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			if i%4 == 1 {
				b = b[:r.IntN(len(b))]
			}
		}
		f, err := Decode(b)
		if err != nil {
			continue
		}
		w := NewMerger(nil).NewWindow()
		if w.Add(f) == nil {
			good++
			windowText(t, w)
		}
	}
	if good > 5000 {
		t.Errorf("got %d of 10000 frames of garbage taken for good", good)
	}
}

// What hosts left out for budgets goes along with their rows: margins add up as independent ones do, in any
// order and in any number of parts, and the result says what it is.
func TestEstimatesOfHosts(t *testing.T) {
	form := &Form{Keys: 1, Args: 1, Aggs: []agg.Agg{{Op: agg.Count}, {Op: agg.Sum}},
		Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "n"}, {Name: "s"}}}
	frame := func(host string, square, bias, events float64) *Frame {
		r := Result{Kind: Table, Name: "table", Form: form, Samples: 100,
			Costs: costsOf(&result.Cost{Budget: 0.01, Own: 0.002, Traced: 0.008, Events: events, Time: 1})}
		for _, name := range []string{"db", "web"} {
			r.Rows = append(r.Rows, Row{Row: agg.Row{Key: []event.Value{event.StrOf(name)},
				Measures: []agg.Measure{agg.NewMeasure(100, agg.TotalOf(event.IntNumber(1000)),
					event.IntNumber(1), event.IntNumber(90))}}})
		}
		if events < 1 {
			r.Rows[0].Doubts = []agg.Doubt{{N: agg.Far{Square: square, Bias: bias},
				Sum: agg.Far{Square: 100 * square, Bias: 10 * bias}}}
		}
		return &Frame{Host: host, Seq: 1, Begin: 1, End: 2, Results: []Result{r}}
	}
	frames := []*Frame{frame("a", 9, 1, 0.5), frame("b", 16, 2, 0.25), frame("c", 0, 0, 1)}
	for range 3 {
		frames = append(frames[1:], frames[0])
		w := NewMerger(nil).NewWindow()
		for _, f := range frames {
			own, err := Decode(f.Append(nil))
			if err == nil {
				err = w.Add(own)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got := windowText(t, w)
		for _, want := range []string{"db   300 ±   8  3000 ±  80", "web 300 ± - 3000 ± -",
			"sampled: 58.3% of the events, for a budget of 1% of the CPUs (cost 1%)"} {
			want = strings.Join(strings.Fields(want), " ")
			if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
		if n := w.Sampled(); n != 2 {
			t.Errorf("got %d hosts that left events out, want 2", n)
		}
	}
	bad := frame("a", -1, 0, 0.5)
	if err := NewMerger(nil).NewWindow().Add(bad); err == nil {
		t.Error("a margin below 0 is taken")
	}
	bad.Results[0].Costs.Own = math.Inf(1)
	if _, err := Decode(bad.Append(nil)); err == nil {
		t.Error("an endless cost is taken")
	}
}

// One number may mean something else on another machine: rows are put together by what they mean.
func TestNumbersWithSeveralNames(t *testing.T) {
	form := &Form{Keys: 1, Args: 1, Aggs: []agg.Agg{{Op: agg.Count}},
		Columns: []result.Column{{Name: "call", Kind: result.KeyColumn}, {Name: "n"}}}
	frame := func(host string, names ...string) *Frame {
		r := Result{Kind: Table, Name: "table", Form: form, Samples: 100}
		for i, name := range names {
			r.Rows = append(r.Rows, Row{Names: []string{name}, Row: agg.Row{
				Key: []event.Value{event.IntOf(int64(110 + i))}, Measures: []agg.Measure{{N: 10}}}})
		}
		return &Frame{Host: host, Seq: 1, Begin: 1, End: 2, Results: []Result{r}}
	}
	a, b, c := frame("a", "getppid(110)", "getpgrp(111)"), frame("b", "timer_settime(110)", "getpgrp(111)"),
		frame("c", "getppid(110)", "getpgrp(111)")
	for _, order := range [][]*Frame{{a, b, c}, {b, c, a}, {c, a, b}} {
		w := NewMerger(nil).NewWindow()
		for _, f := range order {
			if err := w.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		got := asJSON(t, w)
		const want = `"rows":[{"call":"getppid(110)","n":20},{"call":"timer_settime(110)","n":10},` +
			`{"call":111,"call_text":"getpgrp(111)","n":30}]`
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// asJSON is what a window shows as JSON.
func asJSON(t *testing.T, w *Window) string {
	t.Helper()
	var b bytes.Buffer
	out, err := render.New(&b, render.Options{Format: "json", Clock: func(at event.Time) time.Time {
		return time.Unix(0, int64(at))
	}})
	if err == nil {
		_, _, err = w.Show(out, About{Begin: time.Unix(1, 0), End: time.Unix(2, 0)})
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCellsKeepTheirNames checks that values in cells have the names that machines told, unless
// these differ, however frames are put together.
func TestCellsKeepTheirNames(t *testing.T) {
	form := &Form{Keys: 1, Args: 1, Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn},
		{Name: "least"}, {Name: "most"}, {Name: "often"}},
		Aggs: []agg.Agg{{Op: agg.Min}, {Op: agg.Max}, {Op: agg.Top, N: 2}}}
	frame := func(host string, at func(n int64) string) *Frame {
		r := Result{Kind: Table, Name: "table", Form: form, Samples: 3}
		row := Row{Row: agg.Row{Key: []event.Value{event.StrOf("a")},
			Measures: []agg.Measure{agg.NewMeasure(3, agg.TotalOf(event.IntNumber(18)), event.IntNumber(1),
				event.IntNumber(9))},
			Contents: []agg.Content{{Counts: []agg.ValueCount{{Value: event.IntOf(1), N: 4},
				{Value: event.IntOf(9), N: 2}}}}}}
		for i, n := range []int64{1, 9, 1, 9} {
			row.Called = append(row.Called, KernelName{[]int{0, 1, 2, 2}[i], event.IntOf(n), at(n)})
		}
		r.Rows = append(r.Rows, row)
		return &Frame{Host: host, Seq: 1, Begin: 1, End: 2, Results: []Result{r}}
	}
	a := frame("a", func(n int64) string { return fmt.Sprint("E", n) })
	b := frame("b", func(n int64) string { return fmt.Sprint(map[int64]string{1: "E", 9: "X"}[n], n) })
	travelled := func(f *Frame) *Frame {
		own, err := Decode(f.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return own
	}
	window := func(frames ...*Frame) *Window {
		w := NewMerger(nil).NewWindow()
		for _, f := range frames {
			if err := w.Add(travelled(f)); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	again := &Frame{Host: "m", Seq: 1, Begin: 1, End: 2, Results: window(a, b).Results()}
	for _, w := range []*Window{window(a, b), window(b, a), window(again)} {
		const want = `"rows":[{"comm":"a","least":1,"least_text":"E1","most":9,` +
			`"often":[[1,8],[9,4]],"often_text":"((E1, 8), (9, 4))"}]`
		if got := asJSON(t, w); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	const want = `"least_text":"E1","most":9,"most_text":"E9"`
	if got := asJSON(t, window(a)); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	bad := frame("a", func(int64) string { return "E" })
	bad.Results[0].Rows[0].Called[0].Agg = 3
	if _, err := Decode(bad.Append(nil)); err == nil {
		t.Error("a name for an aggregator that is not there is taken")
	}
}

// TestLinearFunctionsTravel checks that Functions that are computed behind the aggregators travel
// with them, and are not added up with others.
func TestLinearFunctionsTravel(t *testing.T) {
	of := func(l agg.Linear) *Frame {
		form := &Form{Columns: []result.Column{{Name: "s", Prec: -1}, {Name: "q", Prec: -1}}, Args: 1,
			Aggs: []agg.Agg{{Op: agg.Sum, Linear: l, Type: event.Type{Kind: event.TypeFloat}},
				{Op: agg.Quantile, Q: 0.5, Linear: l, Type: event.Type{Kind: event.TypeFloat}}}}
		n := event.IntNumber(10)
		row := Row{Row: agg.Row{Measures: []agg.Measure{agg.NewMeasure(1, agg.TotalOf(n), n, n)},
			Contents: []agg.Content{{N: 1, Values: []event.Number{n}, Least: n, Greatest: n}}}}
		return &Frame{Host: "a", Seq: 1, Begin: 1, End: 2,
			Results: []Result{{Kind: Table, Name: "table", Form: form, Rows: []Row{row}}}}
	}
	l := agg.Linear{{Op: '/', Const: 4}, {Op: '+', Const: 0.5}}
	f, err := Decode(of(l).Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	form := f.Results[0].Form
	u := agg.NewUnion(form.Aggs, form.Args, 0)
	if err := u.Add(&f.Results[0].Rows[0].Row); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(u.Rows(0)); got != "[[3 3]]" && got != "[[3.0 3.0]]" {
		t.Errorf("got %s, want 3 and 3", got)
	}
	if other := of(l[:1]); sameAgg(&form.Aggs[0], &other.Results[0].Form.Aggs[0]) {
		t.Error("sums of different functions are added up")
	}
	for _, wrong := range []agg.Linear{{{Op: '/'}}, {{Op: '^', Const: 2}}, {{Op: '*', Const: -1}},
		{{Op: '+', Const: math.NaN()}}} {
		if _, err := Decode(of(wrong).Append(nil)); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}
