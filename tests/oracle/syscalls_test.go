package oracle

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A callCount has the number of calls of a system call, and of failures.
type callCount struct{ calls, errs int64 }

// straceCounts runs a program under strace -c -f.
func straceCounts(t *testing.T, args ...string) map[string]callCount {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strace")
	testkit.Run(t, append([]string{"strace", "-c", "-f", "-U", "name,calls,errors", "-o", file, "--"},
		args...)...).Want(t, 0)
	counts := map[string]callCount{}
	for line := range strings.Lines(read(t, file)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		calls, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			continue // title and rule
		}
		c := callCount{calls: calls}
		if len(words) > 2 {
			c.errs, _ = strconv.ParseInt(words[2], 10, 64)
		}
		counts[words[0]] = c
	}
	return counts
}

var perfTraceLine = regexp.MustCompile(`(?m)^ +([a-z_0-9]+) +([0-9]+) +([0-9]+) `)

// perfTraceCounts runs a program under perf trace -s, which has one table for
// each thread. Without sorting, it misses calls of threads that change their
// CPU meanwhile, because their events come out of order.
func perfTraceCounts(t *testing.T, args ...string) map[string]callCount {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	testkit.Run(t, append([]string{"perf", "trace", "--sort-events", "-s", "-o", file, "--"}, args...)...).
		Want(t, 0)
	counts := map[string]callCount{}
	for _, m := range perfTraceLine.FindAllStringSubmatch(read(t, file), -1) {
		c := counts[m[1]]
		calls, _ := strconv.ParseInt(m[2], 10, 64)
		errs, _ := strconv.ParseInt(m[3], 10, 64)
		counts[m[1]] = callCount{c.calls + calls, c.errs + errs}
	}
	return counts
}

// ourCounts returns the table of ppscript syscalls by name.
func ourCounts(t *testing.T, table testkit.Table) map[string]callCount {
	t.Helper()
	counts := map[string]callCount{}
	for _, row := range table.Rows {
		name, _, _ := strings.Cut(row.Text(t, "syscalls_text"), "(")
		c := counts[name]
		counts[name] = callCount{c.calls + row.Int(t, "calls"), c.errs + row.Int(t, "err")}
	}
	return counts
}

// Calls and errors equal those of strace and perf trace, and the known numbers.
// Other calls of Go's runtime (futex, mmap, signals, nanosleep) differ in each
// run, and strace itself changes them; every second the runtime checks its CPUs
// again (sched_getaffinity, pread64).
func TestSyscallsEqualStrace(t *testing.T) {
	live(t, testkit.Strace, testkit.Perf)
	target := []string{testkit.Load(t), "-getppid", "500", "-fail", "40", "-sleep", "10"}
	out := testkit.Run(t, append([]string{testkit.PPScript(t), "syscalls", "--format", "json", "--"},
		target...)...).Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	got, strace, trace := ourCounts(t, table), straceCounts(t, target...), perfTraceCounts(t, target...)
	for _, name := range []string{
		"getppid", "openat", "clock_nanosleep", "prctl", "pipe2", "sched_setaffinity", "prlimit64",
	} {
		if name == "clock_nanosleep" {
			// Signals by which Go preempts goroutines interrupt a sleep.
			for _, counts := range []map[string]callCount{got, strace, trace} {
				counts[name] = callCount{calls: counts[name].calls}
			}
		}
		if got[name] != strace[name] || got[name].calls == 0 {
			t.Errorf("%s: got %v, want strace's %v", name, got[name], strace[name])
		}
		// perf sorts batches, so it may miss a call at the border of two.
		if d := got[name].calls - trace[name].calls; d < 0 || d > 2 || got[name].errs != trace[name].errs {
			t.Errorf("%s: got %v, want perf trace's %v and at most 2 more calls", name,
				got[name], trace[name])
		}
	}
	if got["getppid"] != (callCount{500, 0}) || got["openat"].errs != 40 ||
		got["clock_nanosleep"].calls != 10 {
		t.Errorf("got %v, want 500 getppid, 40 openat that fail and 10 clock_nanosleep", got)
	}
	// exit_group never returns, and strace does not count it.
	if got["exit_group"] != (callCount{1, 0}) {
		t.Errorf("exit_group: got %v, want 1", got["exit_group"])
	}
}

// --than counts and prints the calls that take longer.
func TestSyscallsThan(t *testing.T) {
	live(t, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "syscalls", "--format", "json", "--than", "190us", "-e",
		enter+"/id == 230/", "-e", leave+"/id == 230/",
		"--", testkit.Load(t), "-getppid", "100", "-sleep", "15").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 || rows[0].Int(t, "calls") != 15 || rows[0].Int(t, "than") != 15 ||
		rows[0].Int(t, "min") < 200_000 {
		t.Errorf("got %v, want 15 sleeps of more than 200 us", rows)
	}
	var names []string
	for _, e := range testkit.Events(t, out.Stdout) {
		names = append(names, e.Event)
	}
	if want := slices.Repeat([]string{enter, leave}, 15); !slices.Equal(names, want) {
		t.Errorf("got %v, want 15 pairs of enter and exit", names)
	}
}
