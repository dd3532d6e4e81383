package mergeable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// all are the aggregators that add up without rounding, of one argument.
var all = []agg.Agg{{Op: agg.Count}, {Op: agg.Sum}, {Op: agg.Min}, {Op: agg.Max}, {Op: agg.Avg},
	{Op: agg.Quantile, Q: 0.5}, {Op: agg.Quantile, Q: 0.99}, {Op: agg.Distinct},
	{Op: agg.Top, N: 3, Type: event.Type{Kind: event.TypeInt}}}

// tableOf is a table, or a histogram, of random events in rows of random keys.
func tableOf(r *rand.Rand, aggs []agg.Agg, kind Kind, name string) Result {
	form := &Form{Keys: 2, Args: 1, Aggs: aggs, Columns: []result.Column{
		{Name: "comm", Kind: result.KeyColumn}, {Name: "cpu", Kind: result.KeyColumn}}}
	for i := range aggs {
		form.Columns = append(form.Columns, result.Column{Name: fmt.Sprint(aggs[i].Op.Name, i), Prec: -1})
	}
	u := agg.NewUnion(aggs, 1, 0)
	rows := r.IntN(400)
	for range rows {
		v := r.Int64N(1e6) - 1000
		if r.IntN(3) == 0 {
			v = r.Int64N(9) // so that some values come often
		}
		n := event.IntNumber(v)
		row := &agg.Row{Key: []event.Value{event.StrOf(fmt.Sprint("thread", r.IntN(9))),
			event.IntOf(r.Int64N(4))}, Measures: []agg.Measure{agg.NewMeasure(1, agg.TotalOf(n), n, n)}}
		row.Other = r.IntN(50) == 0
		if r.IntN(4) == 0 {
			row.Doubts = []agg.Doubt{{N: agg.Far{Square: float64(r.IntN(99)), Bias: float64(r.IntN(9))},
				Sum: agg.Far{Square: float64(r.IntN(9999)), Bias: float64(r.IntN(99))}}}
		}
		if row.Other {
			row.Key = nil
		}
		for i := range aggs {
			switch aggs[i].Op {
			case agg.Quantile:
				row.Contents = append(row.Contents, agg.Content{N: 1, Values: []event.Number{n}, Least: n,
					Greatest: n})
			case agg.Distinct:
				row.Contents = append(row.Contents, agg.Content{Packed: []string{fmt.Sprint(v)}})
			case agg.Top:
				row.Contents = append(row.Contents, agg.Content{Counts: []agg.ValueCount{
					{Value: event.IntOf(v), N: 1}}})
			case agg.LHist:
				c := agg.Content{Counters: make([]uint64, 12)}
				c.Counters[r.IntN(12)]++
				row.Contents = append(row.Contents, c)
			}
		}
		if err := u.Add(row); err != nil {
			panic(err)
		}
	}
	res := Result{Kind: kind, Name: name, Samples: uint64(rows), TotalSamples: uint64(2 * rows), Form: form,
		Loss: event.Loss{Lost: r.Uint64N(3), Unmatched: r.Uint64N(3)}}
	if sampled := r.Uint64N(2); kind == Table { // numbers whose sums are exact
		res.Costs = Costs{Hosts: 1, Sampled: sampled, Measured: 1, Budget: 0.25, Own: float64(r.IntN(8)) / 8,
			Traced: 0.5, Events: 0.25, Time: 1}
	}
	for row := range u.Parts {
		own := Row{Row: *row}
		if !row.Other {
			own.Names = []string{"", fmt.Sprint("core", row.Key[1])}
		}
		res.Rows = append(res.Rows, own)
	}
	return res
}

func someFrame(r *rand.Rand, host string) *Frame {
	f := frameOf(host, r, 1+r.IntN(300))
	f.Seq, f.Results = r.Uint64N(9)+1, f.Results[1:] // stacks and lines
	f.Results[0].Stacks.Samples = f.Results[0].Stacks.Samples[r.IntN(4):]
	f.Results = append(f.Results, tableOf(r, all, Table, "table"),
		tableOf(r, []agg.Agg{{Op: agg.LHist, Lo: 0, Hi: 10, Step: 1}}, Histogram, "histogram"))
	if r.IntN(4) == 0 { // a machine that had nothing to tell of one result
		f.Results = slices.Delete(f.Results, 0, 1)
	}
	return f
}

// together is one frame of several, as it travels.
func together(t *testing.T, frames ...*Frame) *Frame {
	t.Helper()
	w := NewMerger(nil).NewWindow()
	out := &Frame{Host: "merger", Begin: frames[0].Begin, End: frames[0].End}
	for _, f := range frames {
		if out.Shares = append(out.Shares, f.Shares...); len(f.Shares) == 0 {
			out.Shares = append(out.Shares, f.Share())
		}
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	out.Results = w.Results()
	sent, err := Decode(out.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// canonical is all that a window has, apart from the order in which things came.
func canonical(w *Window) []byte {
	f := &Frame{Results: w.Results()}
	for i := range f.Results {
		f.Results[i].Title = ""
		if s := f.Results[i].Stacks; s != nil {
			slices.SortFunc(s.Samples, func(a, b result.StackSample) int {
				return bytes.Compare(stackText(&a), stackText(&b))
			})
		}
	}
	slices.SortStableFunc(f.Results, func(a, b Result) int {
		return bytes.Compare([]byte(a.Name+"\x00"+a.Host), []byte(b.Name+"\x00"+b.Host))
	})
	return f.Append(nil)
}

func stackText(s *result.StackSample) (b []byte) {
	for _, v := range s.Key {
		b = append(b, v.String()...)
	}
	for _, f := range s.Frames {
		b = append(append(b, 0), f.Name()...)
	}
	return b
}

// TestTreesOfAnyShapeAreExact checks that frames put together in a tree of any shape, in any order,
// are the frames put together at once, to the last bit: what is shown, and what would be sent on.
func TestTreesOfAnyShapeAreExact(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 19))
		var frames []*Frame
		flat := NewMerger(nil).NewWindow()
		for i := range 2 + r.IntN(20) {
			f := someFrame(r, fmt.Sprintf("host%02d", i))
			frames = append(frames, f)
			own, err := Decode(f.Append(nil))
			if err == nil {
				err = flat.Add(own)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		hosts := len(frames)
		for len(frames) > 1 {
			r.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
			n := 1 + r.IntN(len(frames)) // one alone is a level that changes nothing
			one := together(t, frames[:n]...)
			frames = append(frames[n:], one)
		}
		tree := NewMerger(nil).NewWindow()
		if err := tree.Add(frames[0]); err != nil {
			t.Fatal(err)
		}
		got, want := strings.Split(windowText(t, tree), "\n"), strings.Split(windowText(t, flat), "\n")
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] || len(got) != len(want) {
				t.Fatalf("seed %d: of %d lines, got line %d %q, want of %d %q", seed, len(got), i, got[i],
					len(want), want[i])
			}
		}
		if !bytes.Equal(canonical(tree), canonical(flat)) {
			t.Fatalf("seed %d: what is sent on differs from what was put together at once", seed)
		}
		if n := len(frames[0].Shares); n != hosts {
			t.Errorf("seed %d: got shares of %d hosts, want %d", seed, n, hosts)
		}
	}
}

func TestSharesTravel(t *testing.T) {
	f := &Frame{Host: "m", Begin: 5e9, End: 6e9, Shares: []Share{
		{Host: "a", Seq: 3, Dropped: 2, Begin: 4e9, End: 6e9, More: true},
		{Host: "b", Seq: 1, Begin: 5e9, End: 6e9, Final: true, Frame: []byte("whole")}}}
	got, err := Decode(f.Append(nil))
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("got %+v, %v, want %+v", got, err, f)
	}
	long := frameOf("a", rand.New(rand.NewPCG(1, 2)), 50)
	long.Final = true
	head, err := Head(long.Append(nil))
	if err != nil || len(head.Results) > 0 || head.Host != "a" ||
		head.Begin != long.Begin || !head.Final {
		t.Errorf("got the head %+v, %v", head, err)
	}
}
