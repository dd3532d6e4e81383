package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// between returns the text between two words, or up to the next blank.
func between(text, word, end string) string {
	_, rest, _ := strings.Cut(text, word)
	value, _, _ := strings.Cut(rest, end)
	return value
}

// Run times equal the times between the switches that perf script prints.
func TestOncpuEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := recordLoads(t, []string{"-C", "0", "-e", "sched:sched_switch", "--filter", ofLoads},
		"-switch", "300", "-sleep", "30", "-spin", "20")

	type run struct{ runs, longest, time int64 }
	want := map[string]run{}
	began, next := int64(0), ""
	for _, l := range lines {
		comm, pid := between(l.text, "prev_comm=", " prev_pid="), between(l.text, "prev_pid=", " ")
		if pid == next && pid != "0" && began != 0 {
			r, d := want[comm+":"+pid], l.time-began
			want[comm+":"+pid] = run{r.runs + 1, max(r.longest, d), r.time + d}
		}
		began, next = l.time, between(l.text, "next_pid=", " ")
	}

	out := testkit.Run(t, testkit.PPScript(t), "oncpu", "--detail", "--input", file, "--format", "json").
		Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	for _, r := range table.Rows {
		name := fmt.Sprintf("%s:%d", r.Text(t, "comm"), r.Int(t, "tid"))
		got := run{r.Int(t, "runs"), r.Int(t, "longest"), r.Int(t, "time")}
		if got != want[name] || r.Int(t, "cpu") != 0 {
			t.Errorf("%s: got %+v, want %+v", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 || len(table.Rows) < 2 {
		t.Errorf("not in the table: %v", want)
	}
}

// The lines of a log and the table of the same run equal perf script's. perf
// may have old names of other threads, so only names of the command's own
// threads must be equal.
func TestLogsEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.Taskset)
	f := func(profiler string, events []string, option string, command ...string) {
		t.Helper()
		file, want, own := recordFamily(t, events, command...)
		args := []string{testkit.PPScript(t), profiler, "--input", file, "--format", "json"}
		if option != "" {
			args = append(args, option)
		}
		out := testkit.Run(t, args...).Want(t, 0)
		var got []line
		for _, e := range testkit.Events(t, out.Stdout) {
			got = append(got, line{e.Comm, e.TID, e.CPU, e.Time, e.Event, e.Text})
		}
		ours := 0
		for _, lines := range [][]line{got, want} {
			for i, l := range lines {
				if !own[strconv.Itoa(l.tid)] {
					lines[i].comm = "another's"
				}
				if own[between(l.text, " pid=", " ")] {
					ours++
				}
			}
		}
		compareLines(t, got, want)
		calls := int64(0)
		for _, r := range last(t, out.Stdout).Rows {
			calls += r.Int(t, "count")
		}
		if calls != int64(len(want)) || ours == 0 {
			t.Errorf("%s: got %d in the table, want %d, and some of the command's own %d", profiler,
				calls, len(want), ours)
		}
	}
	f("signal", []string{"-e", "signal:signal_generate"}, "", "sh", "-c",
		"sleep 9 & kill -USR1 $!; kill -0 $$; wait || :")
	f("sched-migrate", []string{
		"-e", "sched:sched_migrate_task", "--filter",
		`comm == "taskset" || comm == "sh" || comm == "true"`,
	}, "",
		"sh", "-c", "for i in 1 2 3; do taskset -c 0 taskset -c $((i % 2)) true; done")
}

// Counts of a process by thread add up to perf's.
func TestPercpuStatEqualsPerfStat(t *testing.T) {
	live(t, testkit.Perf)
	l := testkit.StartTarget(t, "-switch", "200", "-fault", "300", "-sleep", "30", "-getppid", "500")
	perf := attachPerf(t, l, "stat", "-x,", "-e",
		"context-switches,cpu-migrations,minor-faults,raw_syscalls:sys_enter,kmem:mm_page_alloc")
	ours := attach(t, l, "percpu-stat", "--syscalls", "--format", "json", "-i", "60s")
	l.Do()
	table := last(t, ours.Stop().Want(t, 0).Stdout)
	want := perfCounts(t, perf.end())
	l.End()
	at := slices.IndexFunc(table.Rows, func(r testkit.Row) bool { return r["thread"] == "ALL" })
	if at < 0 {
		t.Fatalf("no row ALL in %v", table.Rows)
	}
	for column, event := range map[string]string{"csw": "context-switches", "cpu-mig": "cpu-migrations",
		"minflt":   "minor-faults",
		"syscalls": enter, "alloc": "kmem:mm_page_alloc"} {
		sum := int64(0)
		for i, r := range table.Rows {
			if i != at {
				sum += r.Int(t, column)
			}
		}
		if all := table.Rows[at].Int(t, column); all != want[event] || sum != all {
			t.Errorf("%s: got %s in all, %d by thread, want perf's %d", column,
				strconv.FormatInt(all, 10), sum, want[event])
		}
	}
	if want["minor-faults"] < 300 || want["context-switches"] < 200 {
		t.Errorf("perf: got %v, want what the load does at least", want)
	}
}

// The waits of threads for a CPU, and pairs of any events, equal those computed
// from perf script's lines.
func TestJoinsEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := recordLoads(t,
		[]string{"-C", "0", "-e", "sched:sched_wakeup,sched:sched_wakeup_new", "--filter", wakesLoads,
			"-e", "sched:sched_switch", "--filter", ofLoads, "-e", enter + "," + leave, "--filter",
			"id == 110 || id == 230 || id < 2"}, "-switch", "300", "-sleep", "30", "-getppid", "200")

	waits, calls := map[string]latency{}, map[string]latency{}
	woken, began := map[string]line{}, map[int]line{}
	for _, l := range lines {
		switch l.event {
		case "sched:sched_wakeup", "sched:sched_wakeup_new":
			// A thread that wakes itself runs: it does not wait.
			if pid := between(l.text, " pid=", " "); pid != strconv.Itoa(l.tid) {
				woken[pid] = l
			}
		case "sched:sched_switch":
			next := between(l.text, "next_pid=", " ")
			if w, ok := woken[next]; ok {
				add(waits, fmt.Sprintf("%s %s", next, strings.TrimPrefix(w.event, "sched:")), l.time-w.time)
				delete(woken, next)
			}
			state, pid := between(l.text, "prev_state=", " "), between(l.text, "prev_pid=", " ")
			if (state == "R" || state == "R+") && pid != "0" { // an idle task waits for no CPU
				woken[pid] = l
			}
		case enter:
			began[l.tid] = l
		case leave:
			if b, ok := began[l.tid]; ok {
				add(calls, strconv.Itoa(l.tid), l.time-b.time)
				delete(began, l.tid)
			}
		}
	}
	f := func(want map[string]latency, key func(testkit.Row) string, args ...string) {
		t.Helper()
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "--input", file, "--format", "json"},
			args...)...).Want(t, 0)
		table := last(t, out.Stdout)
		noLoss(t, table)
		got := map[string]latency{}
		for _, r := range table.Rows {
			// A thread that changes its name has two rows.
			g, ok := got[key(r)]
			if !ok {
				g.least = r.Int(t, "min")
			}
			got[key(r)] = latency{calls: g.calls + r.Int(t, "calls"), total: g.total + r.Int(t, "total"),
				least: min(g.least, r.Int(t, "min")), most: max(g.most, r.Int(t, "max"))}
		}
		if len(got) != len(want) || len(got) < 2 {
			t.Errorf("%s: got %d rows, want %d", args[0], len(got), len(want))
		}
		for k, w := range want {
			if got[k] != w {
				t.Errorf("%s: %s: got %+v, want %+v", args[0], k, got[k], w)
			}
		}
	}
	f(waits, func(r testkit.Row) string {
		return fmt.Sprintf("%v %v", r["thread"], r["start"])
	}, "rundelay", "--perins")
	f(calls, func(r testkit.Row) string {
		return fmt.Sprint(r["_tid"])
	}, "multi-trace", "--perins", "-k", "_tid", "-e", enter, "-e", leave)
}

func add(rows map[string]latency, key string, d int64) {
	r, ok := rows[key]
	if !ok {
		r.least = d
	}
	rows[key] = latency{calls: r.calls + 1, total: r.total + d, least: min(r.least, d), most: max(r.most, d)}
}

// TestRunDelayIsTheKernels runs two programs on one CPU, and compares their
// waits with the kernel's account.
func TestRunDelayIsTheKernels(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	testkit.Awake(t)
	testkit.Again(t, func() (wrong []string) {
		// Each prints its own run delay, the second number of schedstat, before it
		// ends.
		const spin = `taskset -p -c 0 $$ >/dev/null; i=0
			while [ $i -lt 300000 ]; do i=$((i+1)); done; cat /proc/$$/schedstat`
		const both = `ln -sf /bin/sh "$0/spinning"
			"$0/spinning" -c "$1" & "$0/spinning" -c "$1"; wait`
		out := testkit.Run(t, testkit.PPScript(t), "rundelay", "-a", "--filter", "spinning",
			"--format", "json", "-o", "/dev/stderr", "--", "sh", "-c", both, t.TempDir(), spin).Want(t, 0)
		var want int64
		for line := range strings.Lines(out.Stdout) {
			var ran, delay int64
			if n, _ := fmt.Sscan(line, &ran, &delay); n == 2 {
				want += delay
			}
		}
		var got, preempted int64
		for _, r := range last(t, out.Stderr).Rows {
			got += r.Int(t, "total")
			if r["start"] == "sched_switch" {
				preempted += r.Int(t, "total")
			}
		}
		if want < 50e6 || got < want*9/10 || got > want*11/10+2e6 || preempted < want/2 {
			wrong = []string{fmt.Sprintf("got %d ns, %d of preempted; want %d", got, preempted, want)}
		}
		return wrong
	})
}
