package oracle

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Runs, waits and delays equal those of perf sched timehist, which also shows
// ppscript's threads; perf sched record uses sched_waking.
func TestTimehistEqualsPerf(t *testing.T) {
	live(t, testkit.Perf)
	for _, wake := range []string{"wakeup", "waking"} {
		t.Run(wake, func(t *testing.T) { timehistEqualsPerf(t, "sched:sched_"+wake) })
	}
}

func timehistEqualsPerf(t *testing.T, wake string) {
	// perf resets a thread that it finds only in the middle of a recording; it
	// knows the command's threads from their start to the record of their exit.
	file, lines, own := recordFamily(t, []string{"-e", "sched:sched_switch,sched:sched_wakeup_new," + wake},
		testkit.Load(t), "-switch", "400", "-sleep", "20", "-spin", "10")
	// perf shows the delay of a preempted task only if the task is woken again,
	// and then from that wake-up on.
	preempted := map[string]bool{}
	left := map[string]string{}
	for _, l := range lines {
		if l.event == "sched:sched_switch" {
			next, prev := between(l.text, "next_pid=", " "), between(l.text, "prev_pid=", " ")
			preempted[fmt.Sprintf("%s in %d", next, l.time)] = strings.HasPrefix(left[next], "R")
			left[prev] = between(l.text, "prev_state=", " ")
		}
	}

	// Time and thread identify a line.
	type run struct{ wait, delay, ran string }
	want := map[string]run{}
	for l := range strings.Lines(testkit.Run(t, "perf", "sched", "timehist", "-i", file).Want(t, 0).Stdout) {
		f := strings.Fields(l)
		if n := len(f); n >= 6 && strings.HasPrefix(f[1], "[0") {
			// COMM[TID], COMM[TID/PID], :TID where perf has no name, and COMM
			// where it does not know the process.
			task, numbered := strings.CutSuffix(f[n-4], "]")
			tid, _, _ := strings.Cut(task[strings.LastIndexAny(task, "[:")+1:], "/")
			if !numbered && !strings.HasPrefix(task, ":") {
				tid = "?"
			}
			want[f[0]+" "+tid] = run{f[n-3], f[n-2], f[n-1]}
		}
	}
	micros := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000000, ns/1000%1000) }
	out := testkit.Run(t, testkit.PPScript(t), "sched-timehist", "--input", file, "--format", "json").
		Want(t, 0)
	checked, delayed := 0, 0
	for _, e := range testkit.Events(t, out.Stdout) {
		field := func(name string) int64 {
			n, err := strconv.ParseInt(between(e.Text, name+"=", " "), 10, 64)
			if err != nil {
				t.Fatalf("%s: no %s: %v", e.Text, name, err)
			}
			return n
		}
		key := fmt.Sprintf("%d.%06d %d", e.Time/1e9, e.Time%1e9/1000, field("tid"))
		tid := between(e.Text, "tid=", " ")
		if !own[tid] || strings.Contains(e.Text, " state=X ") {
			continue
		}
		w, ok := want[key]
		if !ok {
			w, ok = want[fmt.Sprintf("%d.%06d ?", e.Time/1e9, e.Time%1e9/1000)]
		}
		if !ok {
			t.Errorf("%s: perf has no such run", e.Text)
			continue
		}
		if micros(field("ran")) != w.ran || micros(field("wait")) != w.wait {
			t.Errorf("%s: got %s after %s, want %+v", e.Text, micros(field("ran")), micros(field("wait")), w)
		}
		if w.delay != "0.000" && !preempted[fmt.Sprintf("%s in %d", tid, e.Time-field("ran"))] {
			delayed++
			if micros(field("delay")) != w.delay {
				t.Errorf("%s: got a delay of %s, want %s", e.Text, micros(field("delay")), w.delay)
			}
		}
		checked++
	}
	if checked < 400 || delayed < 20 {
		t.Errorf("got %d runs, %d of them delayed, want 400 and 20 at least", checked, delayed)
	}
}

// The numbers of forks and execs are the known ones, counted and sampled.
func TestFunccountIsKnown(t *testing.T) {
	live(t)
	for _, more := range [][]string{nil, {"--sampled"}} {
		args := append([]string{
			testkit.PPScript(t), "funccount", "-e", "sched:sched_process_*", "--format", "json",
		}, more...)
		out := testkit.Run(t, append(args, "--", "sh", "-c", "/bin/true; /bin/true; :")...).Want(t, 0)
		got := map[string]int64{}
		for _, r := range last(t, out.Stdout).Rows {
			got[strings.TrimPrefix(r.Text(t, "event"), "sched:")] = r.Int(t, "hits")
		}
		if got["sched_process_fork"] != 2 || got["sched_process_exec"] != 3 ||
			got["sched_process_exit"] != 3 {
			t.Errorf("%v: got %v, want 2 forks, 3 execs, 3 exits", more, got)
		}
	}
}

// The calls and their errors equal those of the target.
func TestSyscallTraceIsKnown(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "syscall-trace", "-e", "getppid,openat,clock_nanosleep",
		"--format", "json", "--", testkit.Load(t), "-getppid", "60", "-fail", "12", "-sleep", "10").Want(t, 0)
	calls, failed, slept := 0, 0, 0
	for _, e := range testkit.Events(t, out.Stdout) {
		if !strings.HasPrefix(e.Comm, "load-") {
			continue // Go's start
		}
		took, _ := strconv.ParseInt(between(e.Text, "took=", " "), 10, 64)
		switch {
		case strings.Contains(e.Text, "call=getppid() ret="):
			calls++
		case strings.Contains(e.Text, "call=openat(dfd: CWD, filename: ") &&
			strings.Contains(e.Text, "ret=-2 ENOENT error=ENOENT"):
			failed++
		case strings.Contains(e.Text, "call=clock_nanosleep(") && took >= 200_000:
			slept++
		}
	}
	if calls != 60 || failed != 12 || slept != 10 {
		t.Errorf("got %d getppid, %d openat that fail, %d sleeps of 200 us, want 60, 12, 10:\n%.2000s", calls,
			failed, slept, out.Stdout)
	}
}

// Each slot has exactly the events whose times lie in it.
func TestHrcountEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := recordLoads(t, []string{
		"-e", "sched:sched_switch", "--filter", ofLoads, "-e", "sched:sched_wakeup", "--filter",
		wakesLoads,
	},
		"-switch", "200", "-sleep", "20", "-spin", "10")
	want := map[string]int64{}
	for _, l := range lines {
		want[fmt.Sprintf("%s %d %d", strings.TrimPrefix(l.event, "sched:"), l.cpu, l.time/1_000_000)]++
	}
	out := testkit.Run(t, testkit.PPScript(t), "hrcount", "--input", file, "--perins", "--period", "1ms",
		"-e", "sched:sched_switch,sched:sched_wakeup", "--format", "json").Want(t, 0)
	got := map[string]int64{}
	for _, table := range testkit.Tables(t, out.Stdout) {
		noLoss(t, table)
		for _, r := range table.Rows {
			got[fmt.Sprintf("%s %d %d", r.Text(t, "event"), r.Int(t, "cpu"), r.Int(t, "slot"))] += r.Int(
				t, "n")
		}
	}
	if len(got) != len(want) || len(want) < 10 {
		t.Errorf("got %d slots, want %d", len(got), len(want))
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: got %d, want %d", k, got[k], n)
		}
	}
}

// Periods of the timer have the events between two of its samples.
func TestHrtimerEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.Samples)
	file, lines := recordLoads(t, []string{
		"-C", "0", "-e", "cpu-clock/period=1000000/", "-e", "sched:sched_switch", "--filter", ofLoads,
	},
		"-switch", "200", "-sleep", "20", "-spin", "10")
	periods, switches, n, began := int64(0), int64(0), int64(0), false
	for _, l := range lines {
		switch {
		case l.event == "sched:sched_switch":
			n++
		default:
			if began {
				periods++
				switches += n
			}
			began, n = true, 0
		}
	}
	out := testkit.Run(t, testkit.PPScript(t), "hrtimer", "--input", file, "--period", "1ms", "-e",
		"sched:sched_switch", "--format", "json", "sched_switch >= 0").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 || rows[0].Int(t, "periods") != periods || rows[0].Int(t, "shown") != periods ||
		rows[0].Int(t, "sched_switch") != switches || periods < 5 || switches < 100 {
		t.Errorf("got %v, want %d periods with %d switches", rows, periods, switches)
	}
}

// The events that arrive and the reported losses add up to the kernel's count.
func TestEventLostAddsUp(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "event-lost", "-e", "raw_syscalls:sys_enter", "--format",
		"json", "-i", "60s", "--", testkit.Load(t), "-getppid", "5000").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 || rows[0].Int(t, "counted") < 5000 || rows[0].Int(t, "unordered") < 0 ||
		math.Abs(float64(rows[0].Int(t, "missing")-last(t, out.Stdout).Loss["lost"])) > 5 {
		t.Errorf("got %v, loss %v, want at least 5000 counted and what is missing lost", rows,
			last(t, out.Stdout).Loss)
	}
}

// Times of threads equal the sums of sched_stat_runtime.
func TestOncpuThreadsEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := recordLoads(t, []string{"-e", "sched:sched_stat_runtime", "--filter", wakesLoads},
		"-switch", "200", "-spin", "20")
	want := map[string]int64{}
	for _, l := range lines {
		ns, _ := strconv.ParseInt(between(l.text, "runtime=", " "), 10, 64)
		want[fmt.Sprintf("%s %d", between(l.text, " pid=", " "), l.cpu)] += ns
	}
	out := testkit.Run(t, testkit.PPScript(t), "oncpu", "--threads", "--input", file, "--format", "json").
		Want(t, 0)
	rows := last(t, out.Stdout).Rows
	for _, r := range rows {
		k := fmt.Sprintf("%d %d", r.Int(t, "tid"), r.Int(t, "cpu"))
		if r.Int(t, "time") != want[k] {
			t.Errorf("%s: got %d ns, want %d", k, r.Int(t, "time"), want[k])
		}
	}
	if len(rows) != len(want) || len(want) < 3 {
		t.Errorf("got %d rows, want %d", len(rows), len(want))
	}
}

// The share of a CPU that a computation uses equals that in /proc/stat.
func TestCPUUtilEqualsProcStat(t *testing.T) {
	live(t)
	// The command itself reads /proc/stat at its begin and end, so the time
	// until it runs does not matter.
	out := testkit.Run(t, testkit.PPScript(t), "cpu-util", "-C", "0", "--system", "--format", "json",
		"-i", "60s", "--",
		"sh", "-c", `grep "^cpu0 " /proc/stat; "$0" -spin 800; grep "^cpu0 " /proc/stat`, testkit.Load(t)).
		Want(t, 0)
	_, stats, _ := strings.Cut(out.Stdout, "cpu0 ")
	first, second, _ := strings.Cut(stats, "cpu0 ")
	before, after := cpuTimes(t, first), cpuTimes(t, second)
	busy, all := after[0]-before[0], after[1]-before[1]
	task := testkit.Run(t, testkit.PPScript(t), "cpu-util", "-i", "60s", "--", "true")
	if task.Exit == 0 || !strings.Contains(task.Stderr, "looks at CPUs, not at tasks") {
		t.Errorf("of a task: got status %d, %q, want an error", task.Exit, task.Stderr)
	}
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 || all == 0 {
		t.Fatalf("got %v, want one row", rows)
	}
	got := rows[0]["all"]
	share, err := strconv.ParseFloat(fmt.Sprint(got), 64)
	want := 100 * busy / all
	// The run includes the start and end of programs, and stat's ticks are 10 ms.
	if err != nil || math.Abs(share-want) > 20 || share < 60 {
		t.Errorf("got %v %%, want %.0f %% (%v)", got, want, err)
	}
}

// cpuTimes returns the busy time and the total time of a CPU in ticks, from a
// line of /proc/stat.
func cpuTimes(t *testing.T, line string) [2]float64 {
	t.Helper()
	f := strings.Fields(line)
	if len(f) < 8 {
		t.Fatalf("got %q, want a line of /proc/stat", line)
	}
	sum, idle := 0.0, 0.0
	for i, s := range f[:8] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		if i == 3 || i == 4 {
			idle += n
		}
	}
	return [2]float64{sum - idle, sum}
}

// Profilers of the CPU's counters work, or name the missing features of this
// machine.
func TestHardwareProfilers(t *testing.T) {
	live(t)
	has, err := filepath.Glob("/sys/bus/event_source/devices/cpu*")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"hwstat"}, {"tlbstat"}, {"llcstat"}, {"split-lock", "--test"}, {"cpu-util", "--cycles"},
		{"ldlat-loads"}, {"ldlat-stores"}, {"c2c"},
	} {
		out := testkit.Run(t, append(append([]string{testkit.PPScript(t)}, args...), "--duration", "300ms",
			"--format", "json")...)
		switch {
		case len(has) == 0:
			if out.Exit != 2 && out.Exit != 3 || out.Stdout != "" ||
				!strings.Contains(out.Stderr, "virtual machines often have no") ||
				!strings.Contains(out.Stderr, "hint: ") {
				if args[0] != "split-lock" || !strings.Contains(out.Stderr, "Intel or AMD") {
					t.Errorf("%v: got status %d, %q, want what this machine lacks", args,
						out.Exit, out.Stderr)
				}
			}
		case out.Exit == 0 && args[0] == "hwstat":
			for _, r := range last(t, out.Stdout).Rows {
				if r.Int(t, "CYCLES") <= 0 {
					t.Errorf("hwstat: got %v, want cycles", r)
				}
			}
		case out.Exit != 0 && !strings.Contains(out.Stderr, "hint: "):
			t.Errorf("%v: got status %d, %q, want rows or a hint", args, out.Exit, out.Stderr)
		}
	}
}
