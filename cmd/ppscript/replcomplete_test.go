package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/builtins/all"
	"ppscript/cmd/ppscript/terminal/prompt"
	"ppscript/tests/testkit"
)

func newCompleter(t *testing.T) *prompt.Completer {
	t.Helper()
	a := newApp()
	bench := newWorkbench(a, &common{input: "../../tests/data/trace.data"}, context.Background)
	reg, err := all.Workshop(bench)
	if err != nil {
		t.Fatal(err)
	}
	return &prompt.Completer{Lang: a.hostOf(reg).NewREPL(), Reg: reg, Bench: bench, Scripts: shipped(),
		Events: []string{
			"block:block_rq_issue", "sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking",
		}}
}

func TestCandidates(t *testing.T) {
	c := newCompleter(t)
	if _, err := c.Lang.Exec(
		`sw = tracepoint("sched:sched_switch"); tab = sw.by("prev_comm").count()`); err != nil {
		t.Fatal(err)
	}
	f := func(text, have string, want ...string) {
		t.Helper()
		list, got := c.Candidates(text)
		if got != have {
			t.Errorf("%s: got %q as the beginning, want %q", text, got, have)
		}
		for _, w := range want {
			if w, none := strings.CutPrefix(w, "-"); slices.Contains(list, w) == none {
				t.Errorf("%s: got %q, want %q: %v", text, list, w, !none)
			}
		}
	}
	f("tracep", "tracep", "tracepoint")
	f("x = tracep", "tracep", "tracepoint")
	f("agg.q", "q", "quantile")
	f("sw.whe", "whe", "where")
	f("sw.where(pid > 1).co", "co", "count")
	f(`tracepoint("a:b").wh`, "wh", "where", "-title")
	f(`tracepoint("a:b").by("x (").so`, "so", "-sort")
	f("tab.so", "so", "sort")
	f("tab.top(5).tit", "tit", "title")
	f(`tracepoint("sched:sched_wak`, "sched:sched_wak", "sched:sched_wakeup", "sched:sched_waking", "-sched:sched_switch")
	f(`tracepoint("sch`, "sch", "sched:", "-sched:sched_switch")
	f(`events("sched:sched_switch,sched:sched_wa`, "sched:sched_switch,sched:sched_wa", "sched:sched_switch,sched:sched_waking")
	f(`fields('block:`, "block:", "block:block_rq_issue")
	f("sw.where(lambda e: e.prev_", "prev_", "prev_pid", "prev_comm", "-common_pid")
	f("sw.where(lambda e: e.", "", "cpu", "time", "next_pid")
	f(`tracepoint("sched:sched_wakeup").where(lambda e: e.`, "", "target_cpu", "-prev_pid")
	f(`sw.by("prev_c`, "prev_c", "prev_comm")
	f("sw.hist(", "", "value = ", "step = ")
	f(`sw.hist("x", st`, "st", "step = ")
	f(`tracepoint("a:b", fi`, "fi", "filter = ")
	f("run(x, sec", "sec", "seconds = ")
	f(`use("../../tests/data/trace.d`, "../../tests/data/trace.d", "../../tests/data/trace.data")
	f(`run(x, input = "../../tests/data/trace.d`, "../../tests/data/trace.d", "../../tests/data/trace.data")
	f(`script("kvm`, "kvm", "kvm-exit")
	f("nothing_is_called_so", "nothing_is_called_so", "-tracepoint")
	f(`print("an open tex`, "an open tex")
}

// For any text, completion returns words that begin with the typed letters.
func FuzzCandidates(f *testing.F) {
	for _, s := range []string{`a.b("c`, "lambda e: e.", ")", "((", `"\`, "x).y", "#", "run(x,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := newCompleter(t)
		list, have := c.Candidates(text)
		if !strings.HasSuffix(text, have) {
			t.Fatalf("%q does not end in %q", text, have)
		}
		for _, w := range list {
			if !strings.HasPrefix(w, have) {
				t.Fatalf("%q does not begin with %q", w, have)
			}
		}
	})
}

func BenchmarkComplete(b *testing.B) {
	a := newApp()
	bench := newWorkbench(a, &common{}, context.Background)
	reg, err := all.Workshop(bench)
	if err != nil {
		b.Fatal(err)
	}
	c := &prompt.Completer{Lang: a.hostOf(reg).NewREPL(), Reg: reg, Bench: bench, Scripts: shipped()}
	began := time.Now()
	list, _ := c.Candidates(`tracepoint("sched:sched_w`)
	if len(list) == 0 {
		b.Skip("missing: tracefs")
	}
	b.ReportMetric(float64(time.Since(began).Microseconds()), "us-first")
	for b.Loop() {
		c.Candidates(`tracepoint("sched:sched_w`)
	}
}

// Members of what lies in the kernel's memory are completed by its types.
func TestCandidatesInTheKernelsMemory(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	c := newCompleter(t)
	for text, want := range map[string]string{
		`sw.where(lambda e: task().real_par`:                           "real_parent",
		`sw.where(lambda e: task().real_parent.com`:                    "comm",
		`sw.where(lambda e: cgroup().kn.nam`:                           "name",
		`sw.by(lambda e: cast(e.ptr, "struct sock").__sk_common.skc_f`: "skc_family",
		`sw.by(lambda e: task().signal.rlim[7].rlim_c`:                 "rlim_cur",
		`sw.by("task()->real_parent->com`:                              "task()->real_parent->comm",
		`sw.by("pid > 1 && task()->mm->total_v`:                        "pid > 1 && task()->mm->total_vm",
	} {
		if list, _ := c.Candidates(text); !slices.Contains(list, want) {
			t.Errorf("%s: got %.300q, want %q among them", text, list, want)
		}
	}
	for _, text := range []string{"task().real_parnt.", "task().comm[0]."} {
		if list, _ := c.Candidates(text); len(list) > 0 {
			t.Errorf("%s: got %.300q, want none", text, list)
		}
	}
}
