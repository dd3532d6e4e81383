package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) {
	workload.MaybeExecChild()
	if os.Getenv("SESSION_TEST_TARGET") != "" {
		// A command with known system calls: nobody else calls umask.
		for range 200 {
			syscall.Umask(0o22)
		}
		for range 30 {
			syscall.Umask(0o77)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// recording is two virtual CPUs of a guest; tests/data/README.md has its
// numbers.
const recording = "../../tests/data/kvm.data"

// run runs reports and returns their output as JSON, line by line.
func runJSON(t *testing.T, cfg Config) ([]map[string]any, Outcome, error) {
	t.Helper()
	var out bytes.Buffer
	cfg.Output = func(clock func(event.Time) time.Time) (render.Renderer, error) {
		return render.New(&out, render.Options{Format: "json", Clock: clock})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o, err := Run(ctx, cfg)
	var lines []map[string]any
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var m map[string]any
		if l != "" && json.Unmarshal([]byte(l), &m) == nil {
			lines = append(lines, m)
		}
	}
	return lines, o, err
}

func tracepoint(full string) *plan.Source {
	sys, name, _ := strings.Cut(full, ":")
	return &plan.Source{Spec: eventspec.Spec{System: sys, Name: name}}
}

func count(in plan.Stream, by ...string) *plan.Group {
	g := &plan.Group{In: in, Aggs: []plan.AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
	for _, k := range by {
		g.By = append(g.By, plan.Var{Name: k, Fn: plan.Fn{Text: k}})
	}
	return g
}

// rowsOf returns the rows of the last table.
func rowsOf(t *testing.T, lines []map[string]any) []map[string]any {
	t.Helper()
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i]["type"] == "table" {
			var rows []map[string]any
			for _, r := range lines[i]["data"].(map[string]any)["rows"].([]any) {
				rows = append(rows, r.(map[string]any))
			}
			return rows
		}
	}
	t.Fatalf("got %d lines and no table", len(lines))
	return nil
}

func TestReplayCounts(t *testing.T) {
	exits := tracepoint("kvm:kvm_exit")
	lines, o, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: recording}},
		Reports: []plan.Report{count(exits, "symbolic(exit_reason)"), count(tracepoint("kvm:kvm_entry"))}})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 2 {
		t.Fatalf("got %d results, want two", len(lines))
	}
	rows := rowsOf(t, lines[:1])
	var total float64
	for _, r := range rows {
		total += r["count"].(float64)
	}
	entries := rowsOf(t, lines)[0]["count"].(float64)
	if total == 0 || uint64(total+entries) != o.Samples {
		t.Errorf("got %v exits and %v entries of %d samples, want all of them counted", total,
			entries, o.Samples)
	}
}

func TestReplayInAndOutOfOrderAgree(t *testing.T) {
	exit, entry := tracepoint("kvm:kvm_exit"), tracepoint("kvm:kvm_entry")
	join := &plan.Join{Stages: []plan.Stream{exit, entry}, Key: &plan.Fn{Text: "tid"}}
	lines, _, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: recording}},
		Reports: []plan.Report{count(join), count(exit)}})
	if err != nil {
		t.Fatal(err)
	}
	pairs := rowsOf(t, lines[:1])[0]["count"].(float64)
	exits := rowsOf(t, lines)[0]["count"].(float64)
	alone, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: recording}}, Reports: []plan.Report{count(exit)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, alone)[0]["count"].(float64); got != exits {
		t.Errorf("got %v exits in file order, %v in time order", got, exits)
	}
	if pairs == 0 || pairs > exits {
		t.Errorf("got %v pairs of %v exits", pairs, exits)
	}
}

func TestLimitIsExact(t *testing.T) {
	lines, o, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: recording}, Limits: Limits{ExitN: 100}},
		Reports: []plan.Report{&plan.Log{In: tracepoint("kvm:*")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, l := range lines {
		if l["type"] == "event" {
			events++
		}
	}
	if events != 100 || o.Samples != 100 {
		t.Errorf("got %d lines and %d samples, want 100", events, o.Samples)
	}
}

func TestRecordingLacksTheEvent(t *testing.T) {
	_, _, err := runJSON(t, Config{
		Options: Options{Recording: Recording{Path: recording}},
		Reports: []plan.Report{count(tracepoint("kvm:kvm_exits"))},
	})
	if err == nil || !strings.Contains(err.Error(), "did you mean kvm:kvm_exit") || diag.HintOf(err) == "" {
		t.Errorf("got %v, want the nearest name and a hint", err)
	}
}

// closed is a reader that went away.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestClosedOutputEndsTheRun(t *testing.T) {
	cfg := Config{Options: Options{Recording: Recording{Path: recording}},
		Reports: []plan.Report{&plan.Log{In: tracepoint("kvm:kvm_exit")}},
		Output: func(func(event.Time) time.Time) (render.Renderer, error) {
			return render.New(closed{}, render.Options{})
		}}
	if _, err := Run(context.Background(), cfg); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want EPIPE", err)
	}
}

func TestExitComesBeforeTheLastResults(t *testing.T) {
	exited := 0
	lines, _, err := runJSON(t,
		Config{
			Options: Options{Recording: Recording{Path: recording}},
			Reports: []plan.Report{count(tracepoint("kvm:kvm_exit"))},
			Hooks:   Hooks{Exit: func() error { exited++; return nil }},
		})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || exited != 1 {
		t.Errorf("got %d lines, %d exits; want 1 and 1", len(lines), exited)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
}

// target is this binary as the command that TestMain describes.
func target() perf.Target {
	return perf.Target{Workload: &workload.Command{
		Args: []string{os.Args[0]}, Env: append(os.Environ(), "SESSION_TEST_TARGET=1"),
	}}
}

// TestLiveIntervalsAddUp runs a command that makes a known number of system
// calls: over all intervals they are all there, once.
func TestLiveIntervalsAddUp(t *testing.T) {
	needRoot(t)
	s := tracepoint("syscalls:sys_enter_umask")
	g := count(s)
	lines, o, err := runJSON(t,
		Config{Reports: []plan.Report{g}, Options: Options{Interval: time.Millisecond},
			Target: target()})
	if err != nil {
		t.Fatal(err)
	}
	var total float64
	for i := range lines {
		if lines[i]["type"] == "table" {
			for _, r := range rowsOf(t, lines[i:i+1]) {
				total += r["count"].(float64)
			}
		}
	}
	if total != 230 || uint64(total) != o.Samples || o.Status != 0 {
		t.Errorf("got %v calls in %d samples, status %d; want 230, all shown", total, o.Samples, o.Status)
	}
}

func TestLiveDurationEnds(t *testing.T) {
	needRoot(t)
	begin := time.Now()
	_, _, err := runJSON(t, Config{Reports: []plan.Report{count(tracepoint("sched:sched_switch"))},
		Options: Options{Limits: Limits{Duration: 200 * time.Millisecond}},
		Target:  perf.Target{CPUs: []int{0}}})
	// A run that does not end is ended by the test binary's own limit.
	if took := time.Since(begin); err != nil || took < 200*time.Millisecond {
		t.Errorf("got %v after %v, want an end after 200 ms", err, took)
	}
}

func TestLiveFilterThatTheKernelRefusesRunsNatively(t *testing.T) {
	needRoot(t)
	s := tracepoint("syscalls:sys_enter_umask")
	s.Filter = "mask + 1 == 19" // arithmetic is beyond the kernel's filters
	var said []string
	lines, _, err := runJSON(t, Config{Reports: []plan.Report{count(s)}, Options: Options{Verbose: 1},
		Messages: func(l string) { said = append(said, l) },
		Target:   target()})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, lines)[0]["count"].(float64); got != 200 {
		t.Errorf("got %v calls with mask 022, want 200", got)
	}
	if !strings.Contains(strings.Join(said, "\n"), "ppscript does it") {
		t.Errorf("got messages %q, want a note about the filter", said)
	}
}
