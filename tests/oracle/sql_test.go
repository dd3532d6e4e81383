package oracle

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// The counts and sums of a query over a recording equal those of top.
func TestSQLEqualsTop(t *testing.T) {
	bin := testkit.PPScript(t)
	const data = "../data/load.data"
	f := func(events, query, key, value, column string) {
		t.Helper()
		top := last(t, testkit.Run(t, bin, "--input", data, "--format", "json", "top", "-e", events).
			Want(t, 0).Stdout)
		sql := last(t, testkit.Run(t, bin, "--input", data, "--format", "json", "sql", "-e",
			strings.Split(events, "/")[0], "--verify", "--query", query).Want(t, 0).Stdout)
		want, got := numbers(t, top, key, value), numbers(t, sql, "k", column)
		if len(want) < 5 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want top's %v", events, got, want)
		}
	}
	f("raw_syscalls:sys_enter//key=id/", "select id k, count(*) n from sys_enter group by id", "ID", "SYS_ENTER", "n")
	f("sched:sched_stat_runtime//key=pid/top-by=runtime/", "select pid k, sum(runtime) s from sched_stat_runtime group by pid", "PID", "RUNTIME", "s")
	f("sched:sched_switch//key=_cpu*1000000+prev_pid/top-by=prev_prio/", "select _cpu*1000000+prev_pid k, sum(prev_prio) s from sched_switch group by k",
		"_CPU*1000000+PREV_PID", "PREV_PRIO", "s")
}

func numbers(t *testing.T, table testkit.Table, key, value string) map[int64]int64 {
	t.Helper()
	m := map[int64]int64{}
	for _, r := range table.Rows {
		m[r.Int(t, key)] = r.Int(t, value)
	}
	return m
}

// Live, the calls of all intervals add up to the known number, and each
// interval has its own.
func TestSQLCountsWhatIsKnown(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "3000", "-sleep", "30")
	ours := attach(t, l, "sql", "-i", "50ms", "--format", "json", "-e", enter+","+leave, "--query",
		"select count(*) n from sys_enter where id = "+getppid+
			"; select count(*) n from sys_exit where id = "+getppid)
	l.Do()
	l.End()
	sums, seen := map[string]int64{}, map[string]int{}
	for _, r := range testkit.Tables(t, ours.Stop().Want(t, 0).Stdout) {
		noLoss(t, r)
		sums[r.Name] += r.Rows[0].Int(t, "n")
		seen[r.Name]++
	}
	if sums["query"] != 3000 || sums["query_2"] != 3000 || seen["query"] < 2 {
		t.Errorf("got %v in %v intervals, want 3000 calls and returns in several", sums, seen)
	}
}

// The database that is kept has the rows, and SQLite's own shell reads it.
func TestSQLKeepsDatabase(t *testing.T) {
	live(t, testkit.AMD64, testkit.SQLite)
	file := filepath.Join(t.TempDir(), "events.db")
	l := testkit.StartTarget(t, "-getppid", "3000")
	ours := attach(t, l, "sql", "-e", enter+"//stack/index=id/,"+leave, "--output2", file)
	l.Do()
	l.End()
	out := ours.Stop().Want(t, 0)
	if !strings.Contains(out.Stdout, "Total Inserts: ") {
		t.Errorf("got %q, want the number of rows", out.Stdout)
	}
	shell := func(query string) string {
		t.Helper()
		return strings.TrimSpace(testkit.Run(t, "sqlite3", file, query).Want(t, 0).Stdout)
	}
	if got := shell("pragma integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
	if got := shell("select count(*) from sys_enter where id = " + getppid); got != "3000" {
		t.Errorf("got %s calls, want 3000", got)
	}
	pids := shell("select group_concat(distinct _pid) from sys_exit where id = " + getppid)
	if pids != strconv.Itoa(l.PID()) {
		t.Errorf("got calls of %s, want of %d only", pids, l.PID())
	}
	if got := shell("select count(*) from sys_enter where id = " + getppid +
		" and _stack in (select id from stacks where frames like '%syscall_64%')"); got != "3000" {
		t.Errorf("got %s calls with a stack of the kernel, want all", got)
	}
	got := shell("select sample_count = (select count(*) from sys_enter), has_stack, function_list " +
		"from event_metadata where table_name = 'sys_enter'")
	if got != "1|1|syscall(id)" {
		t.Errorf("metadata: got %s", got)
	}
}

// Errors are reported before events are opened, with the names that exist.
func TestSQLErrorsComeFirst(t *testing.T) {
	live(t)
	file := filepath.Join(t.TempDir(), "x.db")
	out := testkit.Run(t, testkit.PPScript(t), "sql", "-e", "sched:sched_switch", "--output2", file,
		"--query", "select prev_com from sched_switch", "--", "sh", "-c", "echo ran").Want(t, 2)
	for _, want := range []string{"did you mean prev_comm?", "sched_switch(_pid, _tid, "} {
		if !strings.Contains(out.Stderr, want) {
			t.Errorf("got %q, want %q", out.Stderr, want)
		}
	}
	if strings.Contains(out.Stdout, "ran") {
		t.Error("the command ran")
	}
	testkit.Run(t, testkit.PPScript(t), "sql", "-e", "sched:sched_switch", "--output2", "/nonexistent/x.db",
		"--", "true").Want(t, 2)
	testkit.Run(t, testkit.PPScript(t), "sql", "-e", "sched:sched_switch", "--output2", "/proc/version", "--",
		"true").Want(t, 2)
}

// The kernel filters out events that a query certainly leaves out, with the
// same answer. The columns that the query reads have their values.
func TestSQLFiltersInTheKernel(t *testing.T) {
	live(t, testkit.AMD64)
	query := "select id, min(comm(_tid)) who, count(*) n from sys_enter where id = " + getppid +
		" and common_pid > 0 group by id"
	out := testkit.Run(t, testkit.PPScript(t), "explain", "sql", "-e", enter, "--query", query).
		Want(t, 0).Stdout
	if want := "filter, in the kernel:  id == " + getppid; !strings.Contains(out, want) {
		t.Errorf("got\n%s\nwant %s", out, want)
	}
	l := testkit.StartTarget(t, "-getppid", "500")
	ours := attach(t, l, "sql", "--format", "json", "-e", enter, "--query", query)
	plain := attach(t, l, "sql", "--format", "json", "-e", enter, "--verify", "--query", query)
	l.Do()
	for name, p := range map[string]*testkit.Process{"filtered": ours, "all": plain} {
		table := last(t, p.Stop().Want(t, 0).Stdout)
		if len(table.Rows) != 1 || table.Rows[0].Int(t, "n") != 500 || table.Rows[0].Int(t, "id") != 110 ||
			table.Rows[0].Text(t, "who") != "load-0" {
			t.Errorf("%s: got %v, want 500 calls", name, table.Rows)
		}
		if name == "filtered" && table.Samples != 500 {
			t.Errorf("got %d samples, want those of the query only", table.Samples)
		}
	}
	l.End()
}
