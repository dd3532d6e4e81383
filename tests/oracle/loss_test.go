package oracle

import (
	"fmt"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// Events generated = seen + filtered + lost. The reader is stopped while they
// come, so that a ring of one page loses nearly all of them.
func TestLossIsAccounted(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 20000
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
	source := `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`
	all := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "-c", source+`.count()`)
	odd := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "-c", source+`.where("args[0] & 1").count()`)
	strict := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "--strict", "-c", source+`.count()`)
	readers := []*testkit.Process{all, odd, strict}
	for _, p := range readers {
		p.Signal(syscall.SIGSTOP)
	}
	l.Do()
	for _, p := range readers {
		p.Signal(syscall.SIGCONT)
	}
	check := func(p *testkit.Process, exit int) (table testkit.Table) {
		t.Helper()
		table = last(t, p.Stop().Want(t, exit).Stdout)
		if lost := table.Loss["lost"]; table.TotalSamples+lost != calls || lost < calls/2 || table.TotalSamples == 0 {
			t.Errorf("got %d samples and %d lost, want %d together, most of them lost", table.TotalSamples, lost, calls)
		}
		return table
	}
	if table := check(all, 0); table.Rows[0].Int(t, "count") != table.TotalSamples {
		t.Errorf("got %v of %d samples, want all", table.Rows, table.TotalSamples)
	}
	// The first argument counts up, so every second one of those seen in a row
	// is odd.
	if table := check(odd, 0); table.Rows[0].Int(t, "count") != table.TotalSamples/2 && table.Rows[0].Int(t, "count") != (table.TotalSamples+1)/2 {
		t.Errorf("got %v of %d samples, want half of them", table.Rows, table.TotalSamples)
	}
	check(strict, 4)
	l.End()
}

// Nothing is lost with rings of the usual size, and a filter of ours counts
// exactly what it should.
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

// A call that began before a loss and one that returned after it are not taken
// for one.
func TestSyscallsAfterLoss(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "50000", "-sleep", "3", "-spin", "20")
	p := attach(t, l, "syscalls", "--engine", "perf", "--format", "json", "-m", "1")
	p.Signal(syscall.SIGSTOP)
	l.Do()
	p.Signal(syscall.SIGCONT)
	table := last(t, p.Stop().Want(t, 0).Stdout)
	l.End()
	if table.Loss["lost"] < 50000 {
		t.Errorf("got %v, want nearly all events lost", table.Loss)
	}
	for _, r := range table.Rows {
		// A call that spans the loss would seem to last as long as all of it.
		if r.Int(t, "syscalls") == 110 && r.Int(t, "max") > 10_000_000 {
			t.Errorf("getppid: got %d ns, want no latency across a loss", r.Int(t, "max"))
		}
	}
}
