package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

// withStacks is page faults, clock ticks and switches, with call chains.
const withStacks = "../../tests/data/stacks.data"

func faults() *plan.Source {
	return &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Software, Name: "page-faults"}}
}

func TestReplayCountsByStack(t *testing.T) {
	lines, o, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{
			&plan.Stacks{In: faults()},
			&plan.Stacks{
				In:     faults(),
				By:     []plan.Var{},
				Value:  &plan.Fn{Text: "period"},
				Name:   "faults",
				Stacks: view.Stacks{Top: 2},
			},
			count(faults()),
		}})
	if err != nil {
		t.Fatal(err)
	}
	total := rowsOf(t, lines)[0]["count"].(float64)
	var seen []map[string]any
	for _, l := range lines {
		if l["type"] == "stacks" {
			seen = append(seen, l["data"].(map[string]any))
		}
	}
	if len(seen) != 2 {
		t.Fatalf("got %d results by stack, want 2", len(seen))
	}
	sum := 0.0
	for _, x := range seen[0]["stacks"].([]any) {
		s := x.(map[string]any)
		sum += s["count"].(float64)
		if len(s["stack"].([]any)) == 0 || s["key"].(map[string]any)["comm"] == "" {
			t.Errorf("got %v, want frames and a name", s)
		}
	}
	if sum != total || total < 10 {
		t.Errorf("got %v samples by stack, want all %v", sum, total)
	}
	top := seen[1]["stacks"].([]any)
	if len(top) != 2 || seen[1]["omitted"].(float64) < 1 {
		t.Errorf("got %d stacks and %v omitted, want 2 and the others", len(top), seen[1]["omitted"])
	}
	// A sample stands for 20 faults.
	if x := top[0].(map[string]any); x["value"].(float64) != 20*x["count"].(float64) {
		t.Errorf("got value %v for %v samples, want 20 each", x["value"], x["count"])
	}
	if o.Loss.Missing() != 0 {
		t.Errorf("got loss %+v, want none", o.Loss)
	}
}

// A text on top is a function above all others, and no key; an empty one is none.
func TestTextOnTop(t *testing.T) {
	lines, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{
			&plan.Stacks{In: faults(), OnTop: &plan.Fn{Text: "_comm"}},
			&plan.Stacks{In: faults(), OnTop: &plan.Fn{Text: `""`}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines[:2] {
		stacks := line["data"].(map[string]any)["stacks"].([]any)
		for _, x := range stacks {
			s := x.(map[string]any)
			comm := s["key"].(map[string]any)["comm"]
			top := s["stack"].([]any)[0].(map[string]any)
			if label := top["symbol"] == comm && top["addr"] == "0x0"; label != (i == 0) {
				t.Errorf("got %v on top of a stack of %v", top, comm)
			}
		}
		if len(stacks) < 3 {
			t.Errorf("got %d stacks, want some", len(stacks))
		}
	}
}

// A stack above another is turned round, behind a separator, in each form of results.
func TestStackAboveAnother(t *testing.T) {
	lines, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{
			&plan.Stacks{In: faults(), Above: &plan.Fn{Text: "stack"}},
			&plan.Stacks{In: faults()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each stack lies above itself: the addresses are read the same from both ends.
	mirrored := map[string]float64{}
	stacks := func(line map[string]any) []any { return line["data"].(map[string]any)["stacks"].([]any) }
	for _, x := range stacks(lines[0]) {
		s := x.(map[string]any)
		frames := s["stack"].([]any)
		half := len(frames) / 2
		mid := frames[half].(map[string]any)
		if len(frames)%2 == 0 || mid["symbol"] != "--" || mid["addr"] != "0x0" {
			t.Fatalf("got %v amid %d frames, want the separator", mid, len(frames))
		}
		path := ""
		for i, f := range frames[half+1:] {
			addr := f.(map[string]any)["addr"]
			if other := frames[half-1-i].(map[string]any)["addr"]; other != addr {
				t.Errorf("got %v above for %v below", other, addr)
			}
			path += " " + addr.(string)
		}
		mirrored[path] += s["count"].(float64)
	}
	for _, x := range stacks(lines[1]) {
		s, path := x.(map[string]any), ""
		for _, f := range s["stack"].([]any) {
			path += " " + f.(map[string]any)["addr"].(string)
		}
		mirrored[path] -= s["count"].(float64)
	}
	for path, n := range mirrored {
		if n != 0 {
			t.Errorf("%s: got %v more than without a stack above", path, n)
		}
	}
	if len(mirrored) < 3 {
		t.Errorf("got %d stacks, want some", len(mirrored))
	}
}

func TestStackAsKey(t *testing.T) {
	lines, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{count(faults(), "stack"), count(faults())},
	})
	if err != nil {
		t.Fatal(err)
	}
	total, sum, named := rowsOf(t, lines)[0]["count"].(float64), 0.0, 0
	rows := rowsOf(t, lines[:1])
	for _, r := range rows {
		sum += r["count"].(float64)
		if strings.Contains(r["stack_text"].(string), ";") {
			named++
		}
	}
	if sum != total || named == 0 || len(rows) < 3 {
		t.Errorf("got %v of %v in %d rows, %d with several frames", sum, total, len(rows), named)
	}
}

// TestStackAsKeyOfAHistogram checks that histograms by stack name the functions, as tables do.
func TestStackAsKeyOfAHistogram(t *testing.T) {
	hist := count(faults(), "stack")
	hist.Aggs = []plan.AggCol{{Name: "hist", Agg: agg.Agg{Op: agg.Hist}, Arg: &plan.Fn{Text: "period"}}}
	lines, _, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{hist, count(faults())}})
	if err != nil {
		t.Fatal(err)
	}
	total, sum, named := rowsOf(t, lines)[0]["count"], 0.0, 0
	if lines[0]["type"] != "histogram" {
		t.Fatalf("got %v, want a histogram", lines[0])
	}
	for _, r := range lines[0]["data"].(map[string]any)["rows"].([]any) {
		row := r.(map[string]any)
		sum += row["count"].(float64)
		if text, _ := row["key"].(map[string]any)["stack_text"].(string); strings.Contains(text, ";") {
			named++
		}
	}
	if sum != total || named == 0 {
		t.Errorf("got %v of %v faults, %d keys with several functions", sum, total, named)
	}
}

func TestStackFilesOfAReplay(t *testing.T) {
	dir := t.TempDir()
	svg, pb := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.pb.gz")
	var said []string
	_, _, err := runJSON(t, Config{
		Options: Options{
			Recording: Recording{Path: withStacks},
			Stacks:    output.StackFiles{FlameGraph: svg, Pprof: pb},
		},
		Notes:   func(l string) { said = append(said, l) },
		Reports: []plan.Report{&plan.Log{In: faults()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, begin := range map[string]string{svg: "<svg ", pb: "\x1f\x8b"} {
		b, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(b), begin) {
			t.Errorf("%s: got %.20q (%v), want %q", path, b, err, begin)
		}
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "wrote "+svg) ||
		!strings.Contains(text, "wrote "+pb) {
		t.Errorf("got messages %q, want both files named", text)
	}
}

func TestFoldedToTheOutput(t *testing.T) {
	lines, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: withStacks},
			Stacks: output.StackFiles{FlameGraph: Stdout}},
		Reports: []plan.Report{&plan.Log{In: faults()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	printed := 0
	for _, l := range lines {
		switch l["type"] {
		case "event":
			t.Errorf("got a line of the log, want stacks in its place: %v", l)
		case "print":
			printed++
		}
	}
	if printed != 1 {
		t.Errorf("got %d texts, want the folded stacks", printed)
	}
}

func TestStackFileErrors(t *testing.T) {
	f := func(o Options, reports ...plan.Report) {
		t.Helper()
		o.Recording.Path = withStacks
		_, err := Run(context.Background(), Config{Options: o, Reports: reports})
		var d *diag.Error
		if !errors.As(err, &d) || d.Class != diag.Usage || diag.HintOf(err) == "" {
			t.Errorf("%+v: got error %v, want one of usage with a hint", o, err)
		}
	}
	f(Options{Stacks: output.StackFiles{FlameGraph: "/nonexistent/a.svg"}}, &plan.Log{In: faults()})
	f(Options{Stacks: output.StackFiles{FlameGraph: t.TempDir()}}, &plan.Log{In: faults()})
	f(Options{Stacks: output.StackFiles{Pprof: Stdout}}, &plan.Log{In: faults()})
	f(Options{Stacks: output.StackFiles{Pprof: "x.pb.gz"}}, &plan.Heat{
		In:     faults(),
		Value:  plan.Fn{Text: "period"},
		Prefix: filepath.Join(t.TempDir(), "x"),
	})
	if _, err := os.Stat("x.pb.gz"); err == nil {
		t.Error("a file was left behind")
	}
}

// chains is the decoder of a stream whose events have the stack of their CPU.
type chains struct{ chains [][]uint64 }

func (c *chains) Member(*event.Event, event.Member) (uint64, bool) { return 7, true }
func (c *chains) Callchain(e *event.Event) []uint64                { return c.chains[e.CPU] }

type shelf struct{ schema *event.Schema }

func (s shelf) Find(*plan.Source) ([]*event.Schema, error) { return []*event.Schema{s.schema}, nil }

// counting is a plan that counts by stack, with events of n stacks of depth
// frames.
func counting(tb testing.TB, n, depth int) (*plan.Instance, []*event.Event) {
	tb.Helper()
	schema := &event.Schema{System: "software", Name: "cpu-clock", Type: 1}
	clock := &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Software, Name: "cpu-clock"}}
	counted := &plan.Stacks{In: clock, Value: &plan.Fn{Text: "period"}, Name: "time"}
	p, err := plan.Build([]plan.Report{counted}, plan.Env{Catalog: shelf{schema}})
	if err != nil {
		tb.Fatal(err)
	}
	c := &chains{}
	for i := range n {
		chain := []uint64{^uint64(127)} // PERF_CONTEXT_KERNEL
		for d := range depth {
			chain = append(chain, 0xffffffff81000000+uint64(i*d))
		}
		c.chains = append(c.chains, chain)
	}
	in := p.Instantiate()
	st := in.Streams()[0]
	st.Members = stack.NewReader(c, stack.New(stack.Options{}),
		stack.Spec{Kernel: true, User: true, Max: 127})
	st.Comm = func(*event.Event) string { return "worker" }
	evs := make([]*event.Event, 256)
	for i := range evs {
		evs[i] = &event.Event{Stream: st, PID: 5, TID: 5, Time: 9, CPU: int32(i % n)}
	}
	return in, evs
}

// The path of a sample, from its decoder to its count, allocates nothing.
func TestCountingStacksDoesNotAllocate(t *testing.T) {
	p, evs := counting(t, 8, 40)
	p.Router.Events(evs)
	if n := testing.AllocsPerRun(100, func() { p.Router.Events(evs) }); n != 0 {
		t.Errorf("got %v allocations for %d samples, want 0", n, len(evs))
	}
	if rows := plan.Runs[*plan.StacksRun](p)[0].Group.Rows(); len(rows) != 8 || rows[0][3].Int() < 32*100 {
		t.Errorf("got %v, want eight rows that count all", rows)
	}
}

func BenchmarkCountStacks(b *testing.B) {
	p, evs := counting(b, 200, 40)
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(evs) {
		p.Router.Events(evs)
	}
	if len(plan.Runs[*plan.StacksRun](p)[0].Group.Rows()) != 200 {
		b.Fatal("samples were not counted")
	}
}

// Inlined functions and source lines are named where they are asked for.
func TestInlinedFrames(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "inl.c"), filepath.Join(dir, "inl")
	text := `volatile unsigned long x;
static inline __attribute__((always_inline)) void inner(long n) { for (long i = 0; i < n; i++) x += i; }
__attribute__((noinline)) void outer(long n) { inner(n); }
int main(void) { for (int i = 0; i < 30; i++) outer(3000000); return 0; }
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Requires(t, testkit.GCC, testkit.Sysfs)
	if out, err := exec.Command("gcc", "-O2", "-g", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	clock := &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Software, Name: "cpu-clock",
		Sampling: eventspec.Sampling{Freq: 999, Exclude: eventspec.Exclude{Kernel: true}}}}
	lines, _, err := runJSON(t, Config{
		Options: Options{Symbols: Symbols{Lines: "yes"}},
		Reports: []plan.Report{&plan.Stacks{In: clock}},
		Target:  perf.Target{Workload: &workload.Command{Args: []string{program}}},
	})
	if errors.Is(err, os.ErrPermission) {
		testkit.Requires(t, testkit.Core("permission to sample own programs", err))
	} else if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range lines {
		if l["type"] != "stacks" {
			continue
		}
		for _, x := range l["data"].(map[string]any)["stacks"].([]any) {
			stack := x.(map[string]any)["stack"].([]any)
			if len(stack) < 2 {
				continue
			}
			inner, outer := stack[0].(map[string]any), stack[1].(map[string]any)
			if inner["symbol"] == "inner" && inner["inline"] == true && outer["symbol"] == "outer" &&
				outer["inline"] == nil &&
				inner["addr"] == outer["addr"] && inner["line"].(float64) == 2 &&
				strings.HasSuffix(inner["file"].(string), "inl.c") {
				found = true
			}
		}
	}
	if !found {
		t.Errorf("got no stack with inner, inlined at inl.c:2, in outer: %v", lines)
	}
}
