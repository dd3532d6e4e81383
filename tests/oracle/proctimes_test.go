package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file compares with numbers that the kernel keeps for every task: in
// /proc and by getrusage.

// threads returns the value of a field in a file of each thread of a process,
// by thread.
func threads(t *testing.T, pid int, file string, field *regexp.Regexp) map[int]float64 {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err == nil && len(files) == 0 {
		err = errors.New("a kernel with CONFIG_SCHED_DEBUG")
	}
	testkit.Requires(t, testkit.Core("/proc/PID/"+file, err))
	of := map[int]float64{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		m := field.FindSubmatch(text)
		if err != nil || m == nil {
			t.Fatalf("%s: got %q, %v", f, text, err)
		}
		tid, _ := strconv.Atoi(strings.Split(f, "/")[4])
		of[tid], _ = strconv.ParseFloat(string(m[1]), 64)
	}
	return of
}

var sumExec = regexp.MustCompile(`se\.sum_exec_runtime +: +([\d.]+)`)

// A thread's time on the CPUs equals the kernel's account.
func TestOncpuEqualsProcSched(t *testing.T) {
	live(t)
	target := testkit.StartTarget(t, "-getppid", "100000", "-switch", "200", "-sleep", "20")
	target.OnOneCPU()
	ours := attach(t, target, "oncpu", "-i", "60s", "-m", "1024", "--format", "json")
	before := threads(t, target.PID(), "sched", sumExec)
	target.Do()
	after := threads(t, target.PID(), "sched", sumExec)
	table := last(t, ours.Stop().Want(t, 0).Stdout)
	target.End()
	noLoss(t, table)
	got := map[int]int64{}
	for _, r := range table.Rows {
		got[int(r.Int(t, "tid"))] += r.Int(t, "time")
	}
	sum := 0.0
	for tid, ms := range after {
		want := ms - before[tid]
		sum += want
		// The thread may have gone to sleep only just before the first reading.
		if d := math.Abs(float64(got[tid])/1e6 - want); d > 0.02*want+0.2 {
			t.Errorf("thread %d: got %.3f ms, the kernel says %.3f", tid, float64(got[tid])/1e6, want)
		}
	}
	if sum < 5 {
		t.Errorf("got %.3f ms in all, want those of 100000 calls", sum)
	}
}

// The run time of a command equals that of getrusage, which bash, its parent,
// prints.
func TestTaskStateEqualsRusage(t *testing.T) {
	live(t, testkit.IdleEvents(0))
	out := testkit.Run(t, testkit.PPScript(t), "task-state", "--format", "json", "-m", "1024",
		"--filter", "load*", "--",
		"taskset", "-c", "0", "bash", "-c", "TIMEFORMAT='used %3U %3S'; time "+testkit.Load(t)+
			" -getppid 200000 -sleep 100 -switch 50").Want(t, 0)
	m := regexp.MustCompile(`used ([\d.]+) ([\d.]+)`).FindStringSubmatch(out.Stderr)
	if m == nil {
		t.Fatalf("bash: got %q, want times", out.Stderr)
	}
	user, _ := strconv.ParseFloat(m[1], 64)
	system, _ := strconv.ParseFloat(m[2], 64)
	used := 1000 * (user + system)
	state := map[int64]testkit.Row{}
	table := last(t, out.Stdout)
	noLoss(t, table)
	for _, r := range table.Rows {
		state[r.Int(t, "St")] = r
	}
	const running, sleeping = 1, 2
	ran := float64(state[running].Int(t, "total")) / 1e6
	// getrusage includes the time of bash's child before it executes load.
	if math.Abs(used-ran) > 10+0.1*used || used < 10 {
		t.Errorf("R: got %.1f ms, getrusage says %.0f", ran, used)
	}
	if n := state[sleeping].Int(t, "calls"); n < 100 {
		t.Errorf("S: got %d sleeps, want at least 100", n)
	}
}

// A thread's times on and off the CPU equal those of perf sched timehist for
// the same recording.
func TestTaskStateEqualsTimehist(t *testing.T) {
	live(t, testkit.Perf)
	testkit.Again(t, func() []string { return taskStateAndTimehist(t) })
}

// unseenStarts returns the threads with a switch away from them but no switch
// to them in the lines: on some kernels perf stops getting events from a task,
// also its switches to others. Each tool makes its own guess about the time in
// between.
func unseenStarts(lines []line) map[int]bool {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	unseen := map[int]bool{}
	runs := map[int]string{}
	for _, l := range lines {
		if l.event == "sched:sched_switch" {
			prev := between(l.text, "prev_pid=", " ")
			if next, ok := runs[l.cpu]; ok && next != prev {
				tid, _ := strconv.Atoi(prev)
				unseen[tid] = true
			}
			runs[l.cpu] = between(l.text, "next_pid=", " ")
		}
	}
	return unseen
}

func taskStateAndTimehist(t *testing.T) (wrong []string) {
	t.Helper()
	file, lines := perfRecord(t, "-a", "-e",
		"sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_process_exec", "--",
		"taskset", "-c", "0", testkit.Load(t), "-sleep", "50", "-switch", "100", "-spin", "10")
	hist := testkit.Run(t, "perf", "sched", "timehist", "-i", file).Want(t, 0)
	//  7310.202359 [0000]  load-0[123]  wait  delay  run
	row := regexp.MustCompile(
		`(?m)^ +\d+\.\d+ \[\d+\] +.*?\[(\d+)(?:/\d+)?\] +([\d.]+) +([\d.]+) +([\d.]+) *$`)
	want := map[int][3]float64{}
	for _, m := range row.FindAllStringSubmatch(hist.Stdout, -1) {
		tid, _ := strconv.Atoi(m[1])
		var row [3]float64
		for i := range row {
			row[i], _ = strconv.ParseFloat(m[2+i], 64)
		}
		if row[0] == 0 {
			row[0] = row[1] // the first run of a thread, which waited since its wake-up
		}
		w := want[tid]
		for i := range w {
			w[i] += row[i]
		}
		want[tid] = w
	}
	out := testkit.Run(t, testkit.PPScript(t), "task-state", "--input", file, "--perins", "--format", "json").
		Want(t, 0)
	got := map[int][3]float64{}
	names := map[int]string{}
	for _, r := range last(t, out.Stdout).Rows {
		tid, part := int(r.Int(t, "thread")), 0
		switch r.Int(t, "St") {
		case 1:
			part = 2
		case 7:
			part = 1
		}
		total, ok := r["total"]
		if !ok || total == nil {
			continue // only an unfinished state
		}
		g := got[tid]
		g[part] += float64(r.Int(t, "total")) / 1e6
		got[tid] = g
		if name := r.Text(t, "comm"); name == "load-0" {
			names[tid] = name // the thread was called perf before its exec, and load after it
		}
	}
	// Other programs may have threads with these names, so threads that began
	// earlier are left out.
	began := map[int]bool{}
	for _, l := range lines {
		if l.event == "sched:sched_wakeup_new" || l.event == "sched:sched_process_exec" {
			began[int(decimal(t, between(l.text, " pid=", " ")))] = true
		}
	}
	compared := 0
	unseen := unseenStarts(lines)
	for tid := range names {
		if !began[tid] || unseen[tid] {
			continue
		}
		compared++
		// timehist's wait time includes all time in which the thread does not
		// run.
		g, w := got[tid], want[tid]
		if off := g[0] + g[1]; math.Abs(off-w[0]) > 0.01*w[0]+0.2 || math.Abs(g[2]-w[2]) > 0.01*w[2]+0.1 {
			wrong = append(wrong, fmt.Sprintf(
				"got %.3f ms waiting and %.3f delayed, %.3f running; timehist says %.3f off the CPU, %.3f running",
				g[0], g[1], g[2], w[0], w[2]))
		}
	}
	if compared == 0 {
		wrong = append(wrong, fmt.Sprintf("got no thread load-0 that began and is seen, among %v", names))
	}
	return wrong
}

// Slots without events are 0, not left out, so an event that never occurs has
// rows.
func TestHrcountShowsQuietSlots(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "hrcount", "-C", "0", "-e",
		"sched:sched_process_hang//alias=hangs/", "--period", "10ms", "-i", "60s",
		"--system", "--format", "json", "--", testkit.Load(t), "-spin", "100").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	for _, r := range rows {
		if r.Text(t, "event") != "hangs" || r.Int(t, "n") != 0 {
			t.Errorf("got %v, want 0 hangs", r)
		}
	}
	if len(rows) == 0 {
		t.Error("got no slot")
	}
}

// Every slot is in exactly one report: ten slots in each interval except the
// last.
func TestHrcountKeepsSlotsWhole(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "hrcount", "-e", "sched:sched_switch", "-C", "0", "--period",
		"10ms", "-i", "100ms", "--duration", "750ms", "-m", "1024", "--format", "json")
	tables := testkit.Tables(t, out.Want(t, 0).Stdout)
	next := int64(0)
	for i, table := range tables {
		noLoss(t, table)
		slots := map[int64]bool{}
		first, last := int64(math.MaxInt64), int64(0)
		for _, r := range table.Rows {
			n := r.Int(t, "slot")
			slots[n], first, last = true, min(first, n), max(last, n)
		}
		if next > 0 && len(slots) > 0 && first != next {
			t.Errorf("report %d: got slots from %d, want from %d", i, first, next)
		}
		// Intervals that a busy machine misses are shown as one. The first
		// interval also has the slot in which ppscript began.
		if len(slots) != max(1, (len(slots)+5)/10)*10 && i > 0 && i < len(tables)-1 {
			t.Errorf("report %d: got %d slots, want 10", i, len(slots))
		}
		next = last + 1
	}
}

// Slots add up to perf stat's counts of the same threads at the same time.
func TestHrcountEqualsPerfStat(t *testing.T) {
	live(t, testkit.Perf)
	l := testkit.StartTarget(t, "-switch", "200", "-sleep", "30", "-getppid", "500")
	perf := attachPerf(t, l, "stat", "-x,", "-e", "raw_syscalls:sys_enter,sched:sched_switch")
	ours := attach(t, l, "hrcount", "-e", "raw_syscalls:sys_enter,sched:sched_switch", "--period", "1ms",
		"-i", "60s", "-m", "1024", "--format", "json")
	l.Do()
	table := last(t, ours.Stop().Want(t, 0).Stdout)
	want := perfCounts(t, perf.end())
	l.End()
	noLoss(t, table)
	got := map[string]int64{}
	for _, r := range table.Rows {
		got[r.Text(t, "event")] += r.Int(t, "n")
	}
	for name, event := range map[string]string{
		"sys_enter": "raw_syscalls:sys_enter", "sched_switch": "sched:sched_switch",
	} {
		if got[name] != want[event] || want[event] < 200 {
			t.Errorf("%s: got %d in all slots, want perf's %d", name, got[name], want[event])
		}
	}
}
