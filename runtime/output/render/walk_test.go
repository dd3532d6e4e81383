package render

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// TestWalk checks that results of all shapes come as tables of plain cells and as lines, and no row
// is left out.
func TestWalk(t *testing.T) {
	m := meta("hist", "")
	h := result.NewHistogram(m, []result.Column{{Name: "cpu"}}, result.Column{}, []result.KeyDistribution{
		{Key: []event.Value{event.IntOf(0)}, Distribution: buckets(
			result.Bucket{Lo: result.OpenLo, Hi: 1, Count: 5}, result.Bucket{Lo: 1, Hi: 2, Count: 6})},
		{Key: []event.Value{event.IntOf(3)}, Distribution: buckets(
			result.Bucket{Lo: 64, Hi: result.OpenHi, Count: 7})},
	})
	h.Omitted = 1
	w := &result.Why{Name: "why", Slow: result.WhySpans{Spans: 1, NS: 1000},
		Causes: []result.WhyCause{{Path: []result.WhyLink{{Kind: result.WhyUser}},
			Slow: result.WhySpans{Spans: 1, NS: 1000}}},
		Slowest: []*result.WhySpan{{Label: "openat", To: 1000, Parts: []result.WhyPart{{To: 1000,
			Path: []result.WhyLink{{Kind: result.WhyUser}}}}}}}
	s := &result.Stacks{Meta: meta("stacks", ""), Keys: []result.Column{{Name: "comm"}}, Value: "size",
		Omitted: 3, Samples: []result.StackSample{{Key: []event.Value{event.StrOf("db")}, PID: 7, Count: 2,
			Value:     40,
			CallStack: result.StackOf(&result.Frame{Symbol: "read"}, &result.Frame{Symbol: "main"})}}}
	for _, c := range []struct {
		in   result.Result
		want []string
	}{
		{h, []string{"hist: cpu lo hi count, 1 more", "0  1 5", "0 1 2 6", "3 64  7"}},
		{s, []string{"stacks: comm pid count size stack, 3 more", "db 7 2 40 main;read"}},
		{w, []string{"why: share total spans slow cause, 0 more",
			"100 1000 1 1000 user code", "why/parts: span label key comm tid since took kind cause, 0 more",
			"1 openat   0 0 1000 user code user code"}},
		{&result.Detail{Name: "slow", Start: wakeup(wakeupSchema(), "a", "b", 0, 0),
			End: wakeup(wakeupSchema(), "a", "b", 0, 0)}, []string{"line of slow", "line of slow"}},
		{&result.Heatmap{}, nil},
		{&result.Table{}, nil},
		{&result.Line{}, nil},
		{result.TextOf("text"), nil},
	} {
		var got []string
		err := Walk(c.in, func(r result.Result) error {
			switch r := r.(type) {
			case *result.Table:
				got = append(got, r.Name+": "+strings.Join(r.Names(), " ")+", "+
					event.IntOf(int64(r.Omitted)).String()+" more")
				for _, row := range r.Rows {
					got = append(got, rowText(row))
				}
			case *result.Line:
				got = append(got, "line of "+r.LogName())
			default:
				t.Errorf("%T came as %T", c.in, r)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%T: got %q, %v\nwant %q", c.in, got, err, c.want)
		}
	}
}

func rowText(row []event.Value) string {
	var cells []string
	for _, v := range row {
		cells = append(cells, v.String())
	}
	return strings.Join(cells, " ")
}

// The first error ends the walk, and is its own.
func TestWalkEndsAtTheFirstError(t *testing.T) {
	e := wakeup(wakeupSchema(), "a", "b", 0, 0)
	d := &result.Detail{Start: e, End: e}
	full, calls := errors.New("full"), 0
	err := Walk(d, func(result.Result) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("got %v after %d calls, want %v after 1", err, calls, full)
	}
}

// What a script prints of others' texts is escaped in every format.
func TestPrintedTextsAreEscaped(t *testing.T) {
	for _, format := range Formats() {
		var out bytes.Buffer
		r := newRenderer(t, &out, Options{Format: format})
		if err := errors.Join(r.Show(result.TextOf("a\x1b[2Jb\nc\rd\n")), r.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.ContainsAny(got, "\x1b\r") || !strings.Contains(got, "[2Jb") ||
			!strings.Contains(got, "d") {
			t.Errorf("%s: got %q, want the text without control characters", format, got)
		}
	}
}
