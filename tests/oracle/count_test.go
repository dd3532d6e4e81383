package oracle

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

const (
	enter   = "raw_syscalls:sys_enter"
	leave   = "raw_syscalls:sys_exit"
	getppid = "110" // on amd64
)

// Counters equal perf's on the same run, and the known numbers.
func TestStatEqualsPerfStat(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "1000", "-fail", "50", "-sleep", "20", "-switch",
		"200", "-fault", "300")
	perf := attachPerf(t, l, "stat", "-x,", "-e", enter, "--filter", "id == "+getppid,
		"-e",
		"syscalls:sys_enter_openat,syscalls:sys_exit_clock_nanosleep,sched:sched_switch,page-faults,context-switches")
	ours := attach(t, l, "stat", "--format", "json", "-e", enter+"/id == "+getppid+"/",
		"-e",
		"syscalls:sys_enter_openat,syscalls:sys_exit_clock_nanosleep,sched:sched_switch,page-faults,context-switches")
	l.Do()
	table := last(t, ours.Stop().Want(t, 0).Stdout)
	want := perfCounts(t, perf.end())
	l.End()

	got := map[string]int64{}
	for _, row := range table.Rows {
		got[row.Text(t, "event")] += row.Int(t, "total")
	}
	f := func(ours, perfs string, known, atLeast int64) {
		t.Helper()
		if got[ours] != want[perfs] {
			t.Errorf("%s: got %d, want perf's %d", ours, got[ours], want[perfs])
		}
		if known >= 0 && got[ours] != known || got[ours] < atLeast {
			t.Errorf("%s: got %d, want %d, or at least %d", ours, got[ours], known, atLeast)
		}
	}
	f(enter, enter, 1000, 0)
	f("syscalls:sys_enter_openat", "syscalls:sys_enter_openat", 50, 0)
	f("syscalls:sys_exit_clock_nanosleep", "syscalls:sys_exit_clock_nanosleep", 20, 0)
	f("sched:sched_switch", "sched:sched_switch", -1, 200)
	f("software:page-faults", "page-faults", -1, 300)
	f("software:context-switches", "context-switches", -1, 200)
}

// The sums over intervals equal those of perf stat -I and the known numbers; an
// interval has its periods, and no interval without length follows the last one.
func TestStatIntervalsEqualPerfStat(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "400", "-sleep", "100")
	perf := attachPerf(t, l, "stat", "-x,", "-I", "50", "-e", enter, "--filter", "id == "+getppid)
	ours := attach(t, l, "stat", "--format", "json", "-i", "50ms", "--period", "10ms", "-e",
		enter+"/id == "+getppid+"/")
	for range 3 {
		l.Do()
	}
	ours.Await("six intervals", func(stdout string) bool {
		return strings.Count(stdout, `"type":"table"`) >= 6
	})
	tables := testkit.Tables(t, ours.Stop().Want(t, 0).Stdout)
	lines, err := os.ReadFile(perf.end())
	l.End()
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for line := range strings.Lines(string(lines)) {
		// time,count,unit,event,...
		if words := strings.Split(line, ","); len(words) > 3 && words[3] == enter &&
			words[1] != "<not counted>" {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatalf("perf stat: got %q", line)
			}
			want += n
		}
	}
	got := int64(0)
	for i, table := range tables {
		for _, r := range table.Rows {
			got += r.Int(t, "total")
			counts, _ := r["counts"].([]any)
			// On a busy machine several reads may become one.
			if len(counts) < 1 || len(counts) > 5 {
				t.Errorf("interval %d: got %v, want at most 5 periods", i+1, counts)
			}
		}
	}
	if got != want || got != 3*400 {
		t.Errorf("got %d in all intervals, want perf's %d, and 1200", got, want)
	}
}

// If a run ends with a period, no further one follows, and each has its time.
func TestStatEndsWithItsPeriod(t *testing.T) {
	live(t, testkit.Samples)
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "stat", "-C", "0", "-e", "cpu-clock", "-i", "100ms",
			"--period", "50ms", "--duration", "300ms", "--format", "json").Want(t, 0)
		before := int64(0)
		for i, x := range testkit.All[struct {
			Begin, End int64
			Rows       []testkit.Row
		}](t, out.Stdout, "table") {
			counts, _ := x.Rows[0]["counts"].([]any)
			if len(counts) != 2 {
				wrong = append(wrong, fmt.Sprintf("interval %d: got %v, want 2 periods", i+1, counts))
			}
			if x.Begin < before || x.End <= x.Begin {
				wrong = append(wrong, fmt.Sprintf("interval %d: got from %d to %d, after %d", i+1,
					x.Begin, x.End, before))
			}
			// The count of the CPU clock is the length of the interval.
			if ns, long := x.Rows[0].Int(t, "total"), x.End-x.Begin; ns < 80e6 || ns > 150e6 ||
				max(ns-long, long-ns) > 10e6 {
				wrong = append(wrong, fmt.Sprintf("interval %d: got %d ns in %d ns, want 100 ms", i+
					1, ns, long))
			}
			before = x.End
		}
		return wrong
	})
}

// A command is counted from its first instruction to its last, however short
// it is.
func TestStatShortCommand(t *testing.T) {
	live(t, testkit.AMD64)
	for range 5 {
		out := testkit.Run(t, testkit.PPScript(t), "stat", "--format", "json", "-e",
			enter+"/id == "+getppid+"/,"+enter+"/id == 231/alias=exits/",
			"--", testkit.Load(t), "-getppid", "123").Want(t, 0)
		rows := last(t, out.Stdout).Rows
		if len(rows) != 2 || rows[0].Int(t, "total") != 123 || rows[1].Int(t, "total") != 1 {
			t.Fatalf("got %v, want 123 getppid and 1 exit_group", rows)
		}
	}
}

// The number of samples equals the count in the kernel.
func TestCountEqualsPerfStat(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "2000", "-switch", "300", "-fault", "100")
	perf := attachPerf(t, l, "stat", "-x,", "-e", "raw_syscalls:sys_enter,sched:sched_switch,page-faults")
	calls := attach(t, l, "--format", "json", "-c", `tracepoint("raw_syscalls:sys_enter").by("id").count()`)
	switches := attach(t, l, "--format", "json", "-c", `tracepoint("sched:sched_switch").count()`)
	faults := attach(t, l, "--format", "json", "-c", `software("page-faults").count()`)
	l.Do()
	outputs := map[string]testkit.Table{}
	for name, p := range map[string]*testkit.Process{
		enter: calls, "sched:sched_switch": switches, "page-faults": faults,
	} {
		outputs[name] = last(t, p.Stop().Want(t, 0).Stdout)
	}
	want := perfCounts(t, perf.end())
	l.End()
	for name, table := range outputs {
		noLoss(t, table)
		got := int64(0)
		for _, row := range table.Rows {
			got += row.Int(t, "count")
		}
		if got != want[name] || got == 0 {
			t.Errorf("%s: got %d, want perf's %d", name, got, want[name])
		}
	}
	if n := column(t, outputs[enter], "id", "count")[getppid]; n != 2000 {
		t.Errorf("getppid: got %d, want 2000", n)
	}
}
