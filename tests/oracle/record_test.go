package oracle

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// record starts ppscript record on a target.
func record(t *testing.T, l *testkit.Target, file string, args ...string) *testkit.Process {
	t.Helper()
	p := testkit.Start(t, append(
		[]string{testkit.PPScript(t), "record", "-v", "-o", file, "-p", strconv.Itoa(l.PID())}, args...)...)
	p.WaitStderr(" open event")
	return p
}

// perf script reads ppscript's recordings, and finds the same events in them.
func TestPerfScriptReadsRecord(t *testing.T) {
	live(t, testkit.Perf)
	f := func(name string, options ...string) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "our.data")
			l := testkit.StartTarget(t, "-getppid", "1000", "-switch", "50", "-fail", "20")
			p := record(t, l, file, append(options, "-e", enter, "-e", leave, "-e", "sched:sched_switch")...)
			l.Do()
			p.Stop().Want(t, 0)
			l.End()
			want := perfScript(t, file)
			if n := len(want); n < 2*1070 {
				t.Errorf("perf script: got %d lines, want at least two for each call", n)
			}
			out := testkit.Run(t, testkit.PPScript(t), "trace", "--input", file, "--format", "json",
				"-e", enter+","+leave+",sched:sched_switch").Want(t, 0)
			var got []line
			for _, e := range testkit.Events(t, out.Stdout) {
				got = append(got, line{e.Comm, e.TID, e.CPU, e.Time, e.Event, e.Text})
			}
			compareLines(t, got, want)
		})
	}
	f("plain")
	f("compressed", "-z")
}

// rowsOf returns the rows of a table as text, with equal ones in a fixed order.
func rowsOf(table testkit.Table, columns ...string) []string {
	var rows []string
	for _, r := range table.Rows {
		var words []string
		for _, c := range columns {
			value, _ := r[c].(interface{ String() string })
			if value != nil {
				words = append(words, c+"="+value.String())
			} else {
				words = append(words, c+"="+strings.TrimSpace(toText(r[c])))
			}
		}
		rows = append(rows, strings.Join(words, " "))
	}
	slices.Sort(rows)
	return rows
}

func toText(v any) string {
	s, _ := v.(string)
	return s
}

// A script that runs while its events are recorded has the same results as over
// the recording, made by ppscript or by perf. (Each tool takes its own time
// stamps, so latencies cannot be compared, only counts.)
func TestLiveEqualsItsRecording(t *testing.T) {
	live(t, testkit.Perf)
	profilers := []recordedProfiler{
		{[]string{"top", "-e", enter + "//key=id/", "-e", leave + "//key=id/alias=ret/top-add=ret/"}, []string{"ID", "SYS_ENTER", "RET"}},
		{[]string{"top", "-e", "sched:sched_switch//key=prev_pid/comm=prev_comm/"}, []string{"PREV_PID", "SCHED_SWITCH", "PREV_COMM"}},
		{[]string{"num-dist", "-e", enter + "//num=id/"}, []string{"event", "calls", "total", "min", "avg", "p99", "max"}},
		{[]string{"syscalls", "--perins"}, []string{"thread", "comm", "syscalls", "calls", "err"}},
		{[]string{"-c", `tracepoint("raw_syscalls:sys_exit").by("_comm", bucket = lambda e: e.ret // 100 if e.ret > 0 else -1).agg(n = agg.count(), s = agg.sum("ret"))`},
			[]string{"_comm", "bucket", "n", "s"}},
	}
	testkit.Again(t, func() []string { return recordedAndLive(t, profilers) })
}

// recordedProfiler is a profiler whose table is compared, with its columns.
type recordedProfiler struct {
	args    []string
	columns []string
}

// recordedAndLive runs profilers live and on two recordings of the same run. If
// perf missed the begin of a thread, it compares nothing and says so.
func recordedAndLive(t *testing.T, profilers []recordedProfiler) (wrong []string) {
	t.Helper()
	// Each run has one table, however long the machine takes.
	whole := []string{"--format", "json", "-i", "600s"}
	l := testkit.StartTarget(t, "-getppid", "1500", "-switch", "100", "-fail", "25", "-sleep", "10")
	ours := filepath.Join(t.TempDir(), "our.data")
	events := []string{"-e", enter, "-e", leave, "-e", exited, "-e", "sched:sched_switch"}
	writer := record(t, l, ours, events...)
	perf := attachPerf(t, l, "record",
		append([]string{"-q", "-B", "-N", "--no-bpf-event", "-m", "1024"}, events...)...)
	var running []*testkit.Process
	for _, p := range profilers {
		running = append(running, attach(t, l, append(words(whole), p.args...)...))
	}
	l.Do()
	var outputs []testkit.Output
	for _, p := range running {
		outputs = append(outputs, p.Stop().Want(t, 0))
	}
	writer.Stop().Want(t, 0)
	theirs := perf.end()
	l.End()
	var errs []string
	for i, p := range profilers {
		got := last(t, outputs[i].Stdout)
		noLoss(t, got)
		for _, file := range []string{ours, theirs} {
			out := testkit.Run(t, append([]string{testkit.PPScript(t), "--format", "json", "--input", file},
				words(p.args)...)...).Want(t, 0)
			g, w := rowsOf(got, p.columns...), rowsOf(last(t, out.Stdout), p.columns...)
			if file == theirs && strings.Contains(strings.Join(w, " "), "comm=pid-") {
				return []string{"perf's recording has no name for a thread that began while perf attached"}
			}
			if !slices.Equal(g, w) || len(g) == 0 {
				errs = append(errs, fmt.Sprintf("%v:\nlive:\n%s\non %s:\n%s", p.args, strings.Join(g, "\n"),
					filepath.Base(file), strings.Join(w, "\n")))
			}
		}
	}
	for _, e := range errs {
		t.Error(e)
	}
	return nil
}

func words(args []string) []string { return append([]string(nil), args...) }

// On a machine on which many programs begin and end, a recording loses no larger share of its
// events than perf record at the same time.
func TestRecordLosesNoMoreThanPerf(t *testing.T) {
	live(t, testkit.Perf)
	for range 4 {
		busy := testkit.Start(t, "sh", "-c", "while :; do /bin/true; done")
		defer busy.Stop()
	}
	dir := t.TempDir()
	lost := func(file string, record ...string) float64 {
		path := filepath.Join(dir, file)
		testkit.Run(t, append(record, "-a", "-g", "-e", "cpu-clock", "-e", "sched:*", "-e", "page-faults",
			"-o", path, "--", "sleep", "2")...).Want(t, 0)
		out := testkit.Run(t, "perf", "script", "-i", path, "--show-lost-events", "-F", "event").Want(t, 0)
		missing, seen := 0, 0
		for line := range strings.Lines(out.Stdout) {
			if _, n, ok := strings.Cut(line, "PERF_RECORD_LOST lost "); ok {
				count, err := strconv.Atoi(strings.TrimSpace(n))
				if err != nil {
					t.Fatal(err)
				}
				missing += count
			} else if strings.TrimSpace(line) != "" {
				seen++
			}
		}
		if seen < 1000 {
			t.Fatalf("%s: got %d events, want thousands", file, seen)
		}
		return float64(missing) / float64(missing+seen)
	}
	testkit.Again(t, func() (wrong []string) {
		got := lost("our.data", testkit.PPScript(t), "record")
		want := lost("perf.data", "perf", "record")
		if got > want+0.01 {
			wrong = append(wrong, fmt.Sprintf("lost %.2f %% of the events, want at most 1 beyond perf's %.2f",
				got*100, want*100))
		}
		return wrong
	})
}
