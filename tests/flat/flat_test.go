package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// What is measured exists.
func TestRunsAreProfilers(t *testing.T) {
	for _, r := range runs {
		if _, ok := stdlib.Find(r[0]); !ok {
			t.Errorf("%s: no such profiler", r[0])
		}
	}
}

// The measurement itself works: a run for three seconds.
func TestMeasure(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	quiet := [][]string{{"sleep", "60"}} // other tests go on beside this one
	m, err := measure(context.Background(), testkit.PPScript(t), t.TempDir(), quiet, 3*time.Second, []string{"task-state", "-i", "1s"})
	if err != nil {
		t.Fatal(err)
	}
	if m.third < 1<<20 || m.end < 1<<20 || m.most < max(m.third, m.end) {
		t.Errorf("got %+v, want the memory of a program", m)
	}
}

// State has bounds: of two hundred thousand keys as many are left as may be, the
// others are counted as evicted, and memory is what the bound allows.
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
		out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c", program).Want(t, 0)
		tables := testkit.Tables(t, out.Stdout)
		if n := len(tables); n != 1 || tables[0].Loss["evicted"] != keys-limit {
			t.Errorf("%s: got %v, want %d keys evicted", what, tables, keys-limit)
		}
	}
	f("fold", fmt.Sprintf("def step(s, e):\n    s.n = 1\n    emit(n = e.k)\ntracepoint('a:x').fold('k', {'n': 0}, step, limit = %d).by(one = '1').count()", limit))
	f("join", fmt.Sprintf(`join([tracepoint("a:x")], [tracepoint("a:x").where("0")], key = "k", limit = %d).by(one = "1").count()`, limit))
}
