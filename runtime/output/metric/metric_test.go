package metric

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// calls is a table of an interval, by program, with the program's number as its count.
func calls(seq int, names ...string) *result.Table {
	t := &result.Table{
		Meta: result.Meta{Name: "table", Seq: seq, TotalSamples: uint64(100 * seq),
			Wall: time.Unix(int64(seq), 0),
			Loss: event.Loss{Lost: 2}},
		Columns: []result.Column{
			{Name: "comm", Kind: result.KeyColumn},
			{Name: "calls", Merging: result.Added},
			{Name: "total", Unit: unit.US, Merging: result.Added},
			{Name: "max", Unit: unit.US, Merging: result.Greatest},
			{Name: "avg", Unit: unit.US},
			{Name: "what"},
		},
	}
	for i, name := range names {
		n := int64(i + 1)
		t.Rows = append(t.Rows, []event.Value{
			event.StrOf(name), event.IntOf(n), event.DurationOf(n * 1000), event.DurationOf(n * 500),
			event.DurationOf(n * 100), event.StrOf("text"),
		})
	}
	return t
}

// texts are the series of the metrics whose names have a part, as text.
func texts(s *Store, part string) string {
	var b strings.Builder
	for _, f := range s.Snapshot() {
		if !strings.Contains(f.Name, part) {
			continue
		}
		for _, x := range f.Series {
			fmt.Fprintf(&b, "%s%v %v\n", f.Name, x.Labels, x.Value)
		}
	}
	return b.String()
}

func TestIntervalsAddUp(t *testing.T) {
	s := NewStore(0)
	r := s.Script("/tmp/My-Calls.star")
	if err := r.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	for seq, names := range [][]string{{"a", "b"}, {"b"}} {
		if err := r.Show(calls(seq+1, names...)); err != nil {
			t.Fatal(err)
		}
	}
	// Counters keep what is not in the newest interval; gauges show that interval alone.
	want := `ppscript_my_calls_avg_seconds[b] 1e-07
ppscript_my_calls_calls_total[a] 1
ppscript_my_calls_calls_total[b] 3
ppscript_my_calls_max_seconds[b] 5e-07
ppscript_my_calls_seconds_total[a] 1e-06
ppscript_my_calls_seconds_total[b] 3e-06
`
	if got := texts(s, "my_calls"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := texts(s, "events_total"),
		"ppscript_events_total[/tmp/My-Calls.star] 200\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := texts(s, "loss"); !strings.Contains(got,
		"ppscript_loss_total[/tmp/My-Calls.star table lost] 4\n") {
		t.Errorf("got %s, want 4 lost", got)
	}

	// A script that begins anew goes on counting.
	_ = r.Close()
	if got := texts(s, "max") + texts(s, "up"); got != "ppscript_script_up[/tmp/My-Calls.star] 0\n" {
		t.Errorf("closed: got %s, want no gauges of an interval", got)
	}
	_ = r.Begin(output.About{})
	_ = r.Show(calls(1, "a"))
	if got, want := texts(s, "calls_calls_total"),
		"ppscript_my_calls_calls_total[a] 2\n"; !strings.HasPrefix(got, want) {
		t.Errorf("begun again: got %s, want %s", got, want)
	}
	if got, want := texts(s, "events_total"),
		"ppscript_events_total[/tmp/My-Calls.star] 300\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOtherKeepsTotals checks that keys beyond the bound, and rows that top() takes away, are in a
// row of their own: sums over all series equal the sums of the tables.
func TestOtherKeepsTotals(t *testing.T) {
	s := NewStore(3)
	r := s.Script("top")
	var want float64
	for seq := 1; seq <= 4; seq++ {
		var names []string
		for i := range 10 {
			names = append(names, fmt.Sprint("k", (i+seq)%12))
		}
		tab := calls(seq, names...)
		tab.Keep = true
		for i := range tab.Rows {
			want += tab.Rows[i][1].Float()
		}
		tab.Top(2)
		tab.AddTotals("all")
		_ = r.Show(tab)
	}
	var got, other float64
	rows := 0
	for _, f := range s.Snapshot() {
		if f.Name == "ppscript_top_calls_total" {
			for _, x := range f.Series {
				got += x.Value
				if rows++; x.Labels[0] == Other {
					other = x.Value
				}
			}
		}
		if f.Name == "ppscript_top_avg_seconds" {
			for _, x := range f.Series {
				if x.Labels[0] == Other {
					t.Error("other has a mean, which nobody knows")
				}
			}
		}
	}
	if got != want || rows != 4 || other == 0 {
		t.Errorf("got a sum of %v in %d rows, %v in other; want %v, 4, some", got, rows, other, want)
	}
	if got := texts(s, "max"); !strings.Contains(got, "max_seconds[__other__] 4.5e-06") {
		t.Errorf("got %s, want the greatest of the others", got)
	}
}

// A sum of numbers that are negative is no counter.
func TestSumThatShrinksIsAGauge(t *testing.T) {
	s := NewStore(0)
	r := s.Script("x")
	for _, v := range []int64{5, -7} {
		_ = r.Show(&result.Table{Meta: result.Meta{Name: "table"}, Columns: []result.Column{{Name: "ret",
			Merging: result.Added}},
			Rows: [][]event.Value{{event.IntOf(v)}}})
	}
	for _, f := range s.Snapshot() {
		if strings.HasPrefix(f.Name, "ppscript_x_") && (f.Name != "ppscript_x_ret" || f.Kind != Gauge ||
			f.Series[0].Value != -2) {
			t.Errorf("got %+v, want a gauge ppscript_x_ret of -2", f)
		}
	}
}

// The distribution behind a quantile has all values, each in the bucket in which it lies, and
// its quantiles equal the sketch's within a bucket.
func TestSpreadHasTheValues(t *testing.T) {
	var sketch agg.Sketch
	values := []int64{-70, -1, 0, 1, 7, 8, 9, 100, 127, 128, 1 << 20, math.MaxInt64}
	for range 10 {
		for _, v := range values {
			sketch.Add(event.IntNumber(v))
		}
	}
	var n uint64
	for i, b := range sketch.Spread() {
		n += b.Count
		within := uint64(0)
		for _, v := range values {
			if v >= b.Lo && (v < b.Hi || b.Hi == result.OpenHi) {
				within += 10
			}
		}
		if within != b.Count {
			t.Errorf("bucket %d, %d to %d: got %d, want %d", i, b.Lo, b.Hi, b.Count, within)
		}
	}
	if want := uint64(10 * len(values)); n != want {
		t.Errorf("got %d values, want %d", n, want)
	}
}

func oneHistogram(value string, u unit.Unit, sum float64, buckets ...result.Bucket) *result.Table {
	return result.NewHistogram(result.Meta{Name: "histogram"}, nil, result.Column{Name: value, Unit: u},
		[]result.KeyDistribution{{Distribution: result.Distribution{Sum: sum, Buckets: buckets}}})
}

// Neither form of a histogram loses a value, nor takes one back when others come.
func TestBucketsOnlyGrow(t *testing.T) {
	s := NewStore(0)
	r := s.Script("x")
	before := Exponential{}
	for seq := range uint64(20) {
		_ = r.Show(oneHistogram("delay", unit.US, 1000,
			result.Bucket{Lo: result.OpenLo, Hi: 1, Count: 1},
			result.Bucket{Lo: 512, Hi: 1024, Count: seq % 3},
			result.Bucket{Lo: 1024, Hi: 2048, Count: 1}, result.Bucket{Lo: 3000, Hi: 3500, Count: 1},
			result.Bucket{Lo: 1 << 62, Hi: result.OpenHi, Count: seq % 2}))
		var h *Hist
		for _, f := range s.Snapshot() {
			if f.Name == "ppscript_x_delay_seconds" {
				h = f.Series[0].Hist
			}
		}
		e := h.Exponential()
		sum := e.Zero
		for i, n := range e.Positive {
			if sum += n; n < before.Positive[i] {
				t.Errorf("interval %d: bucket %d went from %d to %d", seq, i, before.Positive[i], n)
			}
		}
		before = e
		if sum != h.Count || e.Zero != seq+1 || h.Below[0] != seq+1 || h.Upper[0] != 0 {
			t.Errorf("interval %d: got %d values, %d of 0, %v up to %v; want %d, %d", seq, sum, e.Zero,
				h.Below, h.Upper,
				h.Count, seq+1)
		}
	}
}

// A bound is that of whole numbers: 4096 is not up to 4095.
func TestBoundsAreInclusive(t *testing.T) {
	s := NewStore(0)
	_ = s.Script("x").Show(oneHistogram("size", unit.Bytes, 0, result.Bucket{Lo: 4096, Hi: 8192, Count: 3}))
	for _, f := range s.Snapshot() {
		if f.Kind == Distribution {
			if got, want := fmt.Sprint(f.Name, f.Series[0].Hist.Upper, f.Series[0].Hist.Below),
				"ppscript_x_size_bytes[4095 8191] [0 3]"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"p99(us)": "p99_us", "%gsys": "gsys", "CPU": "cpu",
		"ä": "value", "a--b": "a_b"} {
		if got := nameWord(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got, want := fmt.Sprint(labelNames([]string{"le", "CPU", "cpu", "1st"})),
		"[le_key cpu cpu_2 key_1st]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Where the time of slow spans went is a counter for each cause.
func TestWhyIsCauses(t *testing.T) {
	s := NewStore(0)
	r := s.Script("why")
	if err := r.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	disk := result.WhyLink{Kind: result.WhyDisk, What: "vda read, device"}
	for seq := range 2 {
		sum := result.WhySpans{Spans: 3, NS: 2_000_000_000}
		w := &result.Why{Name: "why", Meta: result.Meta{Name: "why", Seq: seq + 1}, Slow: sum,
			Causes: []result.WhyCause{{Path: []result.WhyLink{disk}, Slow: sum}}}
		if err := r.Show(w); err != nil {
			t.Fatal(err)
		}
	}
	want := `ppscript_why_why_seconds_total[disk vda read, device] 4
ppscript_why_why_share_ratio[disk vda read, device] 1
ppscript_why_why_slow_seconds[disk vda read, device] 0.666666667
ppscript_why_why_spans_total[disk vda read, device] 6
`
	if got := texts(s, "why_why"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestCost checks that with a budget it is told what observing cost, and what was left out, lately.
func TestCost(t *testing.T) {
	s := NewStore(0)
	r := s.Script("calls")
	if err := r.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	if got := texts(s, "_ratio"); got != "" {
		t.Errorf("without a budget: got %s", got)
	}
	for _, share := range []float64{1, 0.25} {
		x := calls(1, "a")
		x.Cost = &result.Cost{Budget: 0.05, Own: 0.01, Traced: 0.02, Events: share, Time: 1}
		if err := r.Show(x); err != nil {
			t.Fatal(err)
		}
	}
	const want = `ppscript_script_cost_ratio[calls own] 0.01
ppscript_script_cost_ratio[calls budget] 0.05
ppscript_script_cost_ratio[calls traced] 0.02
ppscript_script_sampled_ratio[calls events] 0.25
ppscript_script_sampled_ratio[calls time] 1
`
	if got := texts(s, "_ratio"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
