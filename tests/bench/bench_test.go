package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExpand(t *testing.T) {
	loop := []string{"bench", "-calls", "5"}
	f := func(want string, args ...string) {
		t.Helper()
		if got := strings.Join(expand(args, loop), "|"); got != want {
			t.Errorf("expand(%q): got %s, want %s", args, got, want)
		}
	}
	f("bench|-calls|5", loopWord)
	f("perf|stat|--|bench|-calls|5", "perf", "stat", "--", loopWord)
	f("bpftrace|-c|bench -calls 5|-e|x", "bpftrace", "-c", loopWord, "-e", "x")
}

func TestMentions(t *testing.T) {
	f := func(output string, want bool) {
		t.Helper()
		if got := mentions([]byte(output), 2000); got != want {
			t.Errorf("mentions(%q): got %v, want %v", output, got, want)
		}
	}
	f("@[110]: 2000", true)
	f("  2,017  raw_syscalls:sys_enter", true)
	f("getppid 1999 calls", false)
	f("2021", false)
	f("20000", false)
	f("", false)
	// For a table in each interval, the number is the sum over the rows of the
	// loop's call.
	nr := strconv.Itoa(unix.SYS_GETPPID)
	f("sample 1900 events\n   ID  SYS_ENTER\n  "+nr+"  1,200\n  9  700\n\n  "+nr+"  803\n", true)
	f("getppid("+nr+")  1200  8.5  3\nread(0) 800\ngetppid("+nr+")  800  7.5  3\n", true)
	f("  "+nr+"  1200\n  9  800\n", false)
	f("  "+nr+"  1200\n  "+nr+"  700\n", false)
}

// The environment may name binaries in place of the installed one, or in
// addition to it.
func TestPeers(t *testing.T) {
	version := func(path string) string {
		return map[string]string{"bpftrace": "v0.17", "/a/bpftrace": "v0.26", "/b/bpftrace": "v0.26"}[path]
	}
	f := func(list, want string) {
		t.Helper()
		table := []*job{
			{name: "bare", args: []string{loopWord}},
			{name: "bpftrace printf", args: []string{"bpftrace", "-c", loopWord}},
		}
		var got []string
		for _, j := range measured(table, "bpftrace", peersOf("bpftrace", list, version)) {
			got = append(got, j.name+"="+strings.Join(j.args, " "))
		}
		if all := strings.Join(got[1:], ", "); all != want || got[0] != "bare="+loopWord {
			t.Errorf("%q: got %q, want %q", list, all, want)
		}
	}
	f("", "bpftrace printf=bpftrace -c "+loopWord)
	f("/a/bpftrace", "bpftrace v0.26 printf=/a/bpftrace -c "+loopWord)
	f("bpftrace:/a/bpftrace",
		"bpftrace v0.17 printf=bpftrace -c "+loopWord+", bpftrace v0.26 printf=/a/bpftrace -c "+loopWord)
	f("/a/bpftrace:/b/bpftrace", "bpftrace v0.26 printf=/a/bpftrace -c "+loopWord+
		", bpftrace /b/bpftrace printf=/b/bpftrace -c "+loopWord)
	f("/c/x", "bpftrace printf=/c/x -c "+loopWord)
}

func TestMedian(t *testing.T) {
	f := func(want float64, ns ...float64) {
		t.Helper()
		j := &job{ns: slices.Clone(ns)}
		if got, ok := j.median(); got != want || ok != (len(ns) > 0) {
			t.Errorf("median of %v: got %v, %v, want %v", ns, got, ok, want)
		}
	}
	f(0)
	f(3, 3)
	f(2, 3, 1)
	f(2, 9, 2, 1)
}

func TestTable(t *testing.T) {
	jobs := []*job{
		{group: bareGroup, name: "bare", ns: []float64{100}, start: []float64{2}},
		{group: "g", name: "peer", ns: []float64{500}, observed: true},
		{group: "g", name: "absent", err: fmt.Errorf("x: %w", errMissing)},
		{group: "g", name: "broken", err: errors.New("exit status 1")},
		{group: "g", name: "us", ns: []float64{300}, start: []float64{5, 4, 9}, peak: 12.5, ours: true},
	}
	var b strings.Builder
	printTable(&b, 10, 1, jobs)
	got := strings.Join(strings.Fields(b.String()), " ")
	want := "10 calls of getppid on one CPU, median of 1 rounds; bare: 100.0 ns a call, 2 ms to start" +
		" g ns/call added slowdown to ours start ms peak MB all events seen" +
		" peer 500.0 400.0 5.00x 2.00x 0 0.0 yes" +
		" absent left out: x: not here" +
		" broken failed: exit status 1" +
		" us 300.0 200.0 3.00x 1.00x 5 12.5 no"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// This test runs the loop itself, and a job that runs the loop, with a size
// that takes no time.
func TestRun(t *testing.T) {
	report := filepath.Join(t.TempDir(), "ns")
	if err := loop(workCalls, 1000, report); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	words := strings.Fields(string(text))
	if err != nil || len(words) != 2 {
		t.Fatalf("loop: got %q, %v, want two numbers", text, err)
	}
	if ns, e := strconv.Atoi(words[0]); e != nil || ns < 1000 {
		t.Errorf("loop: got %q, want at least 1 ns a call", text)
	}

	dir := t.TempDir()
	script := `echo 5000 1 >"$0" && echo saw 1,000`
	r := &runner{calls: 1000, dir: dir, loop: func(_ string, calls int) []string {
		return []string{"-c", script, filepath.Join(dir, "ns"), strconv.Itoa(calls)}
	}}
	j := &job{args: []string{"sh", loopWord}}
	r.run(context.Background(), j)
	r.run(context.Background(), j)
	if ns, ok := j.median(); j.err == nil || ok {
		// The report has a newline, which is not a number: a damaged report
		// must not become a measurement.
		t.Errorf("damaged report: got %v, %v, %v", ns, ok, j.err)
	}
	script = `printf '5000 1' >"$0" && echo saw 1,000`
	j = &job{args: []string{"sh", loopWord}}
	r.run(context.Background(), j)
	if ns, ok := j.median(); !ok || ns != 5 || !j.observed || j.err != nil {
		t.Errorf("got %v, %v, seen %v, %v, want 5 ns", ns, ok, j.observed, j.err)
	}
	script = `printf '5000 1' >"$0"`
	r.run(context.Background(), j)
	if j.observed {
		t.Error("one run of two did not tell its count: got seen")
	}
	script = `printf '5000 1' >"$0"; echo $1`
	j = &job{args: []string{"sh", loopWord}, divide: 4}
	r.run(context.Background(), j)
	if ns, _ := j.median(); ns != 20 || !j.observed {
		t.Errorf("a quarter of the calls: got %v, seen %v, %v, want 20 ns", ns, j.observed, j.err)
	}
	j = &job{args: []string{"no-such-tracer", loopWord}}
	if r.run(context.Background(), j); !errors.Is(j.err, errMissing) {
		t.Errorf("got %v, want %v", j.err, errMissing)
	}
}
