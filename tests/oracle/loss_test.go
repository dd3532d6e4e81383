package oracle

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// Events generated = seen + filtered + lost. The reader is stopped while events
// come, so that a ring of one page loses nearly all of them.
func TestLossIsAccounted(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 20000
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
	source := `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`
	all := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "-c", source+`.count()`)
	odd := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "-c",
		source+`.where("args[0] & 1").count()`)
	strict := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "--strict", "-c",
		source+`.count()`)
	readers := []*testkit.Process{all, odd, strict}
	for _, p := range readers {
		p.Suspend()
	}
	l.Do()
	for _, p := range readers {
		p.Signal(syscall.SIGCONT)
	}
	// seen is the number of calls that a run saw, which must be all that it did
	// not lose.
	check := func(p *testkit.Process, exit int) (table testkit.Table, seen int64) {
		t.Helper()
		table = last(t, p.Stop().Want(t, exit).Stdout)
		lost := table.Loss["lost"]
		count := table.Rows[0].Int(t, "count")
		if count != table.TotalSamples || count == 0 || lost < calls/2 {
			t.Errorf("got %v of %d samples and %d lost, want all, and most calls lost", table.Rows,
				table.TotalSamples, lost)
		}
		return table, calls - lost
	}
	if table, seen := check(all, 0); table.TotalSamples != seen {
		t.Errorf("got %d samples, want the %d that were not lost", table.TotalSamples, seen)
	}
	// The first argument counts up, so every second one of those seen in a row
	// is odd.
	if table, seen := check(odd, 0); table.TotalSamples != seen/2 && table.TotalSamples != (seen+1)/2 {
		t.Errorf("got %d samples, want half of the %d that were not lost", table.TotalSamples, seen)
	}
	check(strict, 4)
	l.End()
}

// Rings of the default size lose nothing, and a native filter selects exactly
// the right events.
func TestFilteredIsAccounted(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "3000")
	f := func(want int64, source string) *testkit.Process {
		p := attach(t, l, "--format", "json", "-c", source+".count()")
		t.Cleanup(func() {
			table := last(t, p.Stop().Want(t, 0).Stdout)
			noLoss(t, table)
			if got := table.Rows[0].Int(t, "count"); got != want {
				t.Errorf("%s: got %d, want %d", source, got, want)
			}
		})
		return p
	}
	f(3000, `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`)
	f(3000, `tracepoint("raw_syscalls:sys_enter").where("id == 110")`)
	f(3000, `tracepoint("raw_syscalls:sys_enter").where(lambda e: e.id == 110)`)
	f(1000, `tracepoint("raw_syscalls:sys_enter").where(lambda e: e.id == 110 and e.args[0] % 3 == 0)`)
	f(2999, `tracepoint("raw_syscalls:sys_enter").where("id == 110 && args[0] > 0")`)
	f(3000, `tracepoint("raw_syscalls:sys_enter").where("id == 110 && _comm == \"load-0\"")`)
	f(100, `merge(tracepoint("raw_syscalls:sys_enter", filter = "id == 110"), tracepoint("raw_syscalls:sys_exit", filter = "id == 110")).where(lambda e: e._name == "sys_enter" and e.args[0] < 100)`)
	l.Do()
}

// A call that began before a loss is not paired with a return after it: calls
// and latencies of a recording with many losses equal those computed from perf
// script's lines and losses.
func TestSyscallsAfterLoss(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	// A loss often begins inside a call, because the record of a return with
	// its stack is larger than that of an entry, so that it is more often the
	// first without room. It ends inside a call, because the reader, which is
	// stopped while the ring fills, goes on while the thread sleeps in its
	// call.
	const calls = 3000
	var file string
	var want latency
	testkit.Again(t, func() (wrong []string) {
		file = filepath.Join(t.TempDir(), "our.data")
		l := testkit.StartTarget(t, "-sleep", fmt.Sprint(calls))
		p := record(t, l, file, "-m", "1", "-e", enter+"/id == 230/", "-e", leave+"/id == 230/stack/")
		stutter := p.Stutter(20*time.Millisecond, 5*time.Millisecond)
		l.Do()
		stutter()
		p.Stop().Want(t, 0)
		l.End()
		var spans int
		if want, spans = callsBetweenLosses(t, file); spans == 0 {
			return []string{"no loss began and ended inside of calls"}
		}
		return nil
	})
	for _, args := range [][]string{
		{"syscalls", "-e", enter, "-e", leave},
		{"-c", `join([tracepoint("` + enter + `")], [tracepoint("` + leave + `")], key = "_tid").latency()`},
	} {
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "--input", file, "--format", "json"},
			args...)...).Want(t, 0)
		table := last(t, out.Stdout)
		if table.TotalSamples+table.Loss["lost"] != 2*calls {
			t.Errorf("%s: got %d samples and %d lost, want %d together", args[0], table.TotalSamples,
				table.Loss["lost"], 2*calls)
		}
		r := table.Rows[0]
		got := latency{
			calls: r.Int(t, "calls"),
			total: r.Int(t, "total"),
			least: r.Int(t, "min"),
			most:  r.Int(t, "max"),
		}
		if len(table.Rows) != 1 || got != want {
			t.Errorf("%s: got %+v in %d rows, want %+v", args[0], got, len(table.Rows), want)
		}
	}
}

// callsBetweenLosses pairs the calls of one thread between losses. spans are
// the losses across which a call and the return of another one look like a
// pair.
func callsBetweenLosses(t *testing.T, file string) (sum latency, spans int) {
	t.Helper()
	out := testkit.Run(t, "perf", "script", "-i", file, "--show-lost-events", "--ns", "-F",
		"comm,pid,tid,cpu,time,event,trace").Want(t, 0)
	rows := map[string]latency{}
	began, open, lost := int64(0), false, false
	for text := range strings.Lines(out.Stdout) {
		if strings.Contains(text, "PERF_RECORD_LOST") {
			lost = true
			continue
		}
		m := scriptLine.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		if m == nil {
			t.Fatalf("perf script: got %q", text)
		}
		now := decimal(t, m[5])*1e9 + decimal(t, m[6])
		switch {
		case m[7] == enter:
			began = now
		case open && lost:
			spans++
		case open:
			add(rows, "", now-began)
		}
		open, lost = m[7] == enter, false
	}
	return rows[""], spans
}

// A loss between the start and the end of a pair leaves no pair, live: the
// reader is stopped while many other events fill the ring.
func TestLossInventsNoPair(t *testing.T) {
	live(t, testkit.AMD64)
	// From the single getppid of one round to that of the next.
	program := `join([tracepoint("` + leave + `", filter = "id == 110")], [tracepoint("` + enter +
		`", filter = "id == 110"), ` +
		`tracepoint("` + enter + `", filter = "id == 257").untraced()], key = "_tid").count()`
	f := func(stop bool, pages string, pairs int64) {
		t.Helper()
		l := testkit.StartTarget(t, "-getppid", "1", "-fail", "30000")
		p := attach(t, l, "--engine", "perf", "--format", "json", "-i", "20ms", "-m", pages, "-c", program)
		if stop {
			p.Suspend()
		}
		l.Do()
		p.Signal(syscall.SIGCONT)
		// The kept events must be read before the next round causes more.
		p.Await("samples", func(stdout string) bool {
			n := int64(0)
			for _, table := range testkit.Tables(t, stdout) {
				n += table.Samples
			}
			return n > 10
		})
		l.Do()
		got, lost := int64(0), int64(0)
		for _, table := range testkit.Tables(t, p.Stop().Want(t, 0).Stdout) {
			for _, r := range table.Rows {
				got += r.Int(t, "count")
			}
			lost += table.Loss["lost"]
		}
		l.End()
		if got != pairs || stop != (lost > 0) {
			t.Errorf("stopped %v: got %d pairs, %d events lost; want %d pairs", stop, got, lost, pairs)
		}
	}
	f(false, "8192", 1)
	f(true, "1", 0)
}

// Counts and samples cover the same time, however long opening takes, for whole
// CPUs with constant events. Wake-ups are left out: the kernel counts some that
// it does not sample, for perf stat and perf record too.
func TestEventLostCountsWhatItSees(t *testing.T) {
	live(t)
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "event-lost", "-e",
			"sched:sched_switch,raw_syscalls:sys_enter", "-m", "2048",
			"--format", "json", "--duration", "300ms").Want(t, 0)
		table := last(t, out.Stdout)
		for _, r := range table.Rows {
			counted, missing := r.Int(t, "counted"), r.Int(t, "missing")
			if table.Loss["lost"] == 0 && (missing > 10 || -missing > 100+counted/50) {
				wrong = append(wrong, fmt.Sprintf("%v: got %d of %d missing, and nothing lost", r["event"],
					missing, counted))
			}
		}
		if len(table.Rows) != 2 {
			wrong = append(wrong, fmt.Sprintf("got %d rows, want 2", len(table.Rows)))
		}
		return wrong
	})
}

// Lost records about tasks are not counted as lost events: each event was seen or counted as lost.
func TestLostAreEventsOnly(t *testing.T) {
	live(t)
	const turns, calls = 300, 40
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do /bin/true; %s i=$((i+1)); done`, turns,
		strings.Repeat("kill -0 $$; ", calls))
	testkit.Again(t, func() []string {
		out := testkit.Run(t, testkit.PPScript(t), "--engine", "perf", "-m", "1", "--format", "json", "-c",
			`tracepoint("syscalls:sys_enter_kill").by("comm").count()`, "--", "sh", "-c", script)
		table := last(t, out.Want(t, 0).Stdout)
		if got := table.TotalSamples + table.Loss["lost"]; got != turns*calls {
			t.Errorf("got %d samples and %d lost, want %d together",
				table.TotalSamples, table.Loss["lost"], turns*calls)
		}
		if table.Loss["lost"] == 0 {
			return []string{"nothing was lost"}
		}
		return nil
	})
}
