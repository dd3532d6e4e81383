package bpf

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
)

// Of calls that count with a weight that changes, known ones are estimated within three times
// their margins (an exact test would fail in 5 of 100 runs), sums of small and of large numbers
// too; with weight 1 and without programs nothing is estimated.
func TestWeights(t *testing.T) {
	h, fs := live(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	value := func(text string) agg.Arg { return agg.Arg{Fn: fnOf(node(t, enter, text))} }
	spec := &agg.Spec{Args: []agg.Arg{{}, value("id"), value("id * 100000"), value("id")},
		Aggs: []agg.Agg{{Op: agg.Count}, {Op: agg.Sum, Arg: 1}, {Op: agg.Sum, Arg: 2},
			{Op: agg.Quantile, Arg: 3, Q: 0.5}}}
	p := partOf([]*Event{{Schema: enter, Label: "enter"}}, &Edge{Group: spec,
		Preds: predsOf(node(t, enter, "id == 110"))})
	if unix.SYS_GETPPID != 110 {
		p.Edges[0].Preds = predsOf(node(t, enter, "id == 173"))
	}
	p.Weighed, p.Intervals = true, true
	run := start(t, h, p)
	budget := load.Budget{Run: run}
	g := agg.New(*spec)
	rows := func() []float64 {
		g.Reset()
		if err := run.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { g.AddPartial(p) }); err != nil {
			t.Fatal(err)
		}
		out := &result.Table{Rows: g.Rows(), Columns: make([]result.Column, 4)}
		g.AddMargins(out)
		var cells []float64
		for _, v := range out.Rows[0] {
			cells = append(cells, v.Float())
		}
		return cells
	}
	check := func(name string, n int, certain bool) {
		t.Helper()
		got := rows()
		for i, each := range []float64{1, unix.SYS_GETPPID, unix.SYS_GETPPID * 1e5} {
			want, margin := float64(n)*each, 0.0
			if len(got) == 8 {
				margin = got[4+i]
			}
			if off := math.Abs(got[i] - want); off > 3*margin+0.5 || (margin == 0) != certain ||
				margin > want/4 {
				t.Errorf("%s: got %v ± %v, want %v", name, got[i], margin, want)
			}
		}
		if !certain && got[3] != unix.SYS_GETPPID {
			t.Errorf("%s: got a median of %v", name, got[3])
		}
	}
	weigh := func(n uint64) {
		t.Helper()
		if err := budget.Weigh(n); err != nil {
			t.Fatal(err)
		}
	}
	calls(1000)
	check("all", 1000, true)
	weigh(16)
	calls(20000)
	weigh(64)
	calls(100000)
	check("two weights", 120000, false)
	if err := budget.Pause(); err != nil {
		t.Fatal(err)
	}
	weigh(1)
	calls(1000)
	check("paused", 0, true)
	if err := budget.Resume(); err != nil {
		t.Fatal(err)
	}
	calls(1000)
	check("resumed", 1000, true)
	hits, err := budget.Hits(func(*load.Program) time.Duration { return 10 })
	if err != nil || hits.N < 122000 ||
		hits.Toll != 10*hits.N || hits.Timed < hits.N/128 || hits.Time < hits.Timed {
		t.Errorf("got %+v, %v; want each of 122000 hits, and the time of one of 64", hits, err)
	}
}

// TestAlarm checks that programs ring the bell when an alarm's number of hits came, once, and no
// sooner.
func TestAlarm(t *testing.T) {
	h, fs := live(t)
	p := partOf([]*Event{{Schema: schemaOf(t, fs, "raw_syscalls", "sys_enter"), Label: "enter"}},
		&Edge{Group: &agg.Spec{Args: []agg.Arg{{}}, Aggs: []agg.Agg{{Op: agg.Count}}}})
	p.Weighed = true
	budget := load.Budget{Run: start(t, h, p)}
	if budget.Hears() || budget.Rang() {
		t.Error("a bell that nobody hears has rung")
	}
	if _, err := budget.Bell(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		alarm uint64
		rings bool
	}{{1 << 40, false}, {1000, true}, {0, false}} {
		if err := budget.Alarm(c.alarm); err != nil {
			t.Fatal(err)
		}
		budget.Rang() // before
		calls(10000)
		if got := budget.Rang(); got != c.rings {
			t.Errorf("an alarm after %d hits: got %t, want %t", c.alarm, got, c.rings)
		}
	}
}
