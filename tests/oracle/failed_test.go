package oracle

import (
	"fmt"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// An event whose condition cannot be computed is left out and counted as a
// loss, whatever follows the condition and wherever it is computed.
func TestFailedConditionsAreLoss(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 60
	const failing = `tracepoint("raw_syscalls:sys_enter", filter = "id == 110").where(lambda e: 1000 // (e.id - 110) > 1)`
	for _, engine := range []string{"perf", "interp", "bpf", "auto"} {
		for what, rest := range map[string]string{
			"count": ".count()", "histogram": `.hist("args[0]")`, "log": ".log()", "stacks": ".stacks()",
			"fold": `.fold("tid", {"n": 0}, lambda s, e: emit(n = e.id)).count()`,
		} {
			if engine == "bpf" && what != "count" && what != "histogram" {
				continue // not all of them fit into the kernel
			}
			t.Run(engine+"/"+what, func(t *testing.T) {
				l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
				p := attach(t, l, "--engine", engine, "--format", "json", "--strict", "-c", failing+rest)
				l.Do()
				wantErrors(t, p.Stop().Want(t, 4).Stdout, calls)
				l.End()
			})
		}
	}
}

// An event that other results leave out because a value cannot be computed is a
// loss too, and counted once, also if an operator counts its own failures.
func TestFailedEvaluationsAreLoss(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 60
	const calledFrom = `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`
	const fails = `1000 // (e.id - 110)`
	for what, program := range map[string]string{
		"key":    calledFrom + `.by(x = lambda e: ` + fails + `).count()`,
		"sum":    calledFrom + `.agg(x = agg.sum(lambda e: ` + fails + `))`,
		"let":    calledFrom + `.let(x = lambda e: ` + fails + `).by("x").count()`,
		"column": calledFrom + `.let(x = lambda e: ` + fails + `).log(fields = {"x": "x"})`,
		"row": `sql(` + calledFrom + `.let(x = lambda e: ` + fails +
			`), query = "select count(*), count(x) from sys_enter")`,
		"heatmap": calledFrom + `.heatmap("` + filepath.Join(t.TempDir(), "map") + `", lambda e: ` +
			fails + `)`,
	} {
		t.Run(what, func(t *testing.T) {
			l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
			p := attach(t, l, "--engine", "perf", "--format", "json", "--strict", "-c", program)
			l.Do()
			wantErrors(t, p.Stop().Want(t, 4).Stdout, calls)
			l.End()
		})
	}
}

// wantErrors checks that the results report n failed evaluations, and the
// record end n missing events.
func wantErrors(t *testing.T, output string, n int64) {
	t.Helper()
	type lossy struct {
		Loss    map[string]int64
		Missing int64
		Errors  int64 // in a record loss
		Text    string
	}
	shown := false
	for _, kind := range []string{"table", "histogram", "stacks", "loss"} {
		for _, r := range testkit.All[lossy](t, output, kind) {
			shown = true
			if got := r.Loss["errors"] + r.Errors; got != n {
				t.Errorf("%s: got %d errors, want %d", kind, got, n)
			}
		}
	}
	for _, end := range testkit.All[lossy](t, output, "end") {
		if end.Missing != n {
			t.Errorf("end: got %d events missing, want %d", end.Missing, n)
		}
	}
	if !shown {
		t.Errorf("no result tells of the loss: %s", output)
	}
}
