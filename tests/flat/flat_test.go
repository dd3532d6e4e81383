package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) {
	if words := os.Getenv(ballastVariable); words != "" {
		ballast(words)
		return
	}
	testkit.Main(m)
}

// The measured profilers exist.
func TestRunsAreProfilers(t *testing.T) {
	for _, r := range runs {
		if _, ok := stdlib.Find(r[0]); !ok {
			t.Errorf("%s: no such profiler", r[0])
		}
	}
}

// The measurement itself works, in a run of three seconds.
func TestMeasure(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	quiet := [][]string{{"sleep", "60"}} // other tests run at the same time
	c, err := measure(context.Background(), testkit.PPScript(t), t.TempDir(), quiet, 3*time.Second,
		[]string{"task-state", "-i", "1s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.at {
		if m.resident < 1<<20 || c.most < m.resident {
			t.Errorf("got %+v, want the memory of a program", c)
		}
	}
}

// A run that counts by stack releases stacks before it ends. Each is counted
// exactly once, whether it is written to a file at the end or shown each interval.
// The target calls getppid twice along each of many chains of functions.
func TestStacksAreSettled(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	getppid := strconv.Itoa(unix.SYS_GETPPID)
	f := func(what string, lines func(stdout string) []string, args ...string) {
		t.Run(what, func(t *testing.T) {
			testkit.Again(t, func() []string { return settled(t, lines, args...) })
		})
	}
	file := filepath.Join(t.TempDir(), "stacks.folded")
	f("file", func(string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}, "--engine", "perf", "trace", "-e", "raw_syscalls:sys_enter/id=="+getppid+"/", "-g",
		"--user-callchain=fp", "--flame-graph", file)
	f("intervals", func(stdout string) (folded []string) {
		rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		if err != nil || len(rows) == 0 ||
			!slices.Equal(rows[0], []string{"time", "result", "comm", "pid", "count", "stack"}) {
			t.Fatalf("got error %v, %.100v", err, rows)
		}
		for _, row := range rows[1:] {
			folded = append(folded, row[5]+" "+row[4])
		}
		return folded
	}, "--engine", "perf", "--format", "csv", "-i", "300ms", "-c",
		`tracepoint("raw_syscalls:sys_enter").where("id==`+getppid+`").stack().stacks()`)
}

// settled runs over a target that calls along each of many chains twice, and
// returns what is wrong with the counts.
func settled(t *testing.T, lines func(stdout string) []string, args ...string) (wrong []string) {
	const bits = 14
	target := testkit.StartTarget(t, "-paths", strconv.Itoa(bits))
	defer target.End()
	run := testkit.Start(t, append(
		[]string{testkit.PPScript(t), "-v", "-m", "4096", "-p", strconv.Itoa(target.PID())}, args...)...)
	run.WaitStderr("attached to")
	target.Do()
	run.WaitStderr("are let go")
	target.Do()
	run.Signal(syscall.SIGINT)
	out := run.Wait().Want(t, 0)
	if strings.Contains(out.Stderr, "lost=") {
		return []string{"events were lost: " + out.Stderr}
	}
	// The kernel's part depends on other tracers.
	chains := map[string]int{}
	for _, line := range lines(out.Stdout) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ";main.along;")
		chain, _, ok := strings.Cut(line, ";golang.org/x/sys/unix.RawSyscallNoError")
		count, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if !ok || err != nil {
			continue // a signal of Go's runtime came first
		}
		chains[chain] += count
	}
	if n := len(chains); n != 1<<bits {
		wrong = append(wrong, fmt.Sprintf("got %d chains, want %d", n, 1<<bits))
	}
	for chain, count := range chains {
		if count != 2 && len(wrong) < 10 {
			wrong = append(wrong, fmt.Sprintf("%s: got a count of %d, want 2", chain, count))
		}
	}
	return wrong
}

// State has bounds: of two hundred thousand keys, as many remain as the bound
// allows, the others are counted as evicted, and memory stays within the bound.
func TestStateIsBounded(t *testing.T) {
	const keys, limit = 200_000, 1000
	var events strings.Builder
	events.WriteString("a:x k:u64\n")
	for i := range keys {
		fmt.Fprintf(&events, "%dus 0 1 k=%d\n", i+1, i)
	}
	file := filepath.Join(t.TempDir(), "keys.txt")
	if err := os.WriteFile(file, []byte(events.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	f := func(what, program string) {
		t.Helper()
		out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c", program).
			Want(t, 0)
		tables := testkit.Tables(t, out.Stdout)
		if n := len(tables); n != 1 || tables[0].Loss["evicted"] != keys-limit {
			t.Errorf("%s: got %v, want %d keys evicted", what, tables, keys-limit)
		}
	}
	f("fold", fmt.Sprintf(
		"def step(s, e):\n    s.n = 1\n    emit(n = e.k)\ntracepoint('a:x').fold('k', {'n': 0}, step, limit = %d).by(one = '1').count()",
		limit))
	f("join", fmt.Sprintf(
		`join([tracepoint("a:x")], [tracepoint("a:x").where("0")], key = "k", limit = %d).by(one = "1").count()`,
		limit))
}

// Growth is distinguished from memory that goes up and down, and from garbage
// that is not collected yet.
func TestGrowth(t *testing.T) {
	f := func(want bool, live func(part float64) float64, factor float64) {
		t.Helper()
		var c course
		for i := range 60 {
			n := live(float64(i) / 60)
			c.quarters[i/15].add(memory{int64(factor * n * (1 << 20)), int64(n * (1 << 20))})
		}
		if got := c.grew(); got != want {
			t.Errorf("got grew %v, want %v: %+v", got, want, c.quarters)
		}
	}
	f(false, func(float64) float64 { return 100 }, 2)
	f(true, func(part float64) float64 { return 50 + 50*part }, 2)
	f(false, func(part float64) float64 { return 10 + 5*part }, 2) // within the tolerance
	f(false, func(part float64) float64 { return 50 + 50*min(part, 0.25) }, 2)
	f(false, func(part float64) float64 { return 50 + 30*math.Mod(20*part, 1) }, 2)
	grows := 1.0
	f(false, func(float64) float64 { grows += 0.02; return 50 / grows }, 2)
}

// The collector's lines are parsed.
func TestLiveMemoryIsRead(t *testing.T) {
	var g gctrace
	text := "ppscript: attached to CPUs 0-1\ngc 7 @2.104s 1%: 0.05+1.2+0.03 ms clock, 0.1+0.2/0.9/0.1+0.06 ms cpu, 30->33->17 MB, 34 MB goal, 0 MB stacks, 0 MB globals, 2 P\nloss: lost=3\ngc 8 @"
	for _, part := range []string{text[:40], text[40:90], text[90:]} {
		if n, err := g.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	if got, want := string(g.output), "ppscript: attached to CPUs 0-1\nloss: lost=3\n"; got != want ||
		g.now() != 17<<20 {
		t.Errorf("got %q and %d, want %q and 17 MiB", got, g.now(), want)
	}
}
