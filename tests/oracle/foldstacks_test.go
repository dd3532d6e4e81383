package oracle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Emitted events have the stack of the current event: the periods of hrtimer
// have the stacks of perf's samples, except for the first sample, which begins
// a period.
func TestFoldedPeriodsEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.Samples)
	dir := t.TempDir()
	data, out := filepath.Join(dir, "perf.data"), filepath.Join(dir, "ours.folded")
	testkit.Run(t, "perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "--sample-cpu",
		"-g", "-o", data, "--",
		"taskset", "-c", "0", compiled(t, "hot.c", "-O1", "-fno-omit-frame-pointer"), "500").Want(t, 0)
	testkit.Run(t, testkit.PPScript(t), "hrtimer", "--input", data, "-F", "997", "-g", "--user-callchain=fp",
		"--lines=no", "--flame-graph", out).Want(t, 0)
	got, want := nameless(folded(t, out)), perfFolded(t, data)
	missing, all := int64(0), int64(0)
	for path, n := range want {
		all += n
		missing += n - got[path]
		if got[path] > n {
			t.Errorf("%s: got %d, perf has %d", path, got[path], n)
		}
		delete(got, path)
	}
	// If a kernel function has aliases, each tool chooses one.
	others := int64(0)
	for _, n := range got {
		others += n
	}
	// taskset may begin on any CPU, and each CPU has a first sample.
	if missing -= others; others > all/50 || missing < 1 || missing > 2 || all < 20 {
		t.Errorf("got %d of %d samples missing, and %v that perf has not; want the first of each CPU",
			missing, all, got)
	}
}

// A sleep is shown with the stack where the task went to sleep, and with its
// waker.
func TestTaskStateShowsStacks(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "task-state", "-g", "-S", "--than", "100us", "--filter",
		"load-0", "-m", "1024", "--format", "json", "--", testkit.Load(t), "-sleep", "100").Want(t, 0)
	has := func(stack []testkit.Frame, part string) bool {
		return slices.ContainsFunc(stack, func(f testkit.Frame) bool {
			return strings.Contains(f.Symbol, part)
		})
	}
	sleeps := 0
	for _, e := range testkit.Events(t, out.Stdout) {
		if !has(e.Stack, "nanosleep") {
			continue // of Go's runtime
		}
		if !strings.Contains(e.Text, "state=S") || !has(e.Stack, "schedule") {
			t.Errorf("%s: got stack %v, want schedule in a sleep", e.Text, e.Stack)
		}
		if has(e.Waker, "hrtimer_wakeup") {
			sleeps++
		}
	}
	if sleeps < 10 {
		t.Errorf("got %d of 100 sleeps with their stack and that of the timer that ended them", sleeps)
	}
}
