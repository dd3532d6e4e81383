package oracle

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"ppscript/tests/testkit"
)

// Profilers are sources of a log: each ends after the number of its -N, all
// events are in time order, and other events are those of the target, although
// task-state attaches all of them to CPUs.
func TestProfilersAreSources(t *testing.T) {
	live(t, testkit.AMD64, testkit.Samples)
	// All switches of the machine go through the rings; if the record of a fork
	// is lost, all events of its thread are missing.
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-m", "8192", "--order", "--format", "json", "-e",
		"raw_syscalls:sys_enter/id == 110/,task-state/-N 5/,page-faults/-N 10/,profile/-F 2000 -N 3/",
		"--", testkit.Load(t), "-getppid", "20", "-fault", "100", "-spin", "30", "-sleep", "10").Want(t, 0)
	got := map[string]int{}
	last := int64(0)
	for _, e := range testkit.Events(t, out.Stdout) {
		got[e.Event]++
		if e.Time < last {
			t.Errorf("%s at %d comes after %d", e.Event, e.Time, last)
		}
		last = e.Time
	}
	profiled := got["hardware:cycles"] + got["software:cpu-clock"]
	if got["raw_syscalls:sys_enter"] != 20 || got["task-state"] != 5 || got["software:page-faults"] != 10 ||
		profiled != 3 {
		t.Errorf("got %v, want 20 system calls, 5 states, 10 faults, 3 samples\nstderr: %s\n%s", got,
			out.Stderr, out.Stdout[max(0, len(out.Stdout)-500):])
	}

	// -N counts the events that the source shows, not the events from which
	// they are computed.
	out = testkit.Run(t, testkit.PPScript(t), "trace", "-m", "8192", "--format", "json", "-e",
		"task-state//", "-N", "7", "--", testkit.Load(t), "-sleep", "50").Want(t, 0)
	if n := len(testkit.Events(t, out.Stdout)); n != 7 {
		t.Errorf("-N 7: got %d lines", n)
	}
}

// A source shows the events during a slow pair: that the task slept, and where.
func TestSourceShowsTheMiddleOfAPair(t *testing.T) {
	live(t, testkit.IdleEvents(0)) // a thread that sleeps on an idle CPU is woken by its idle task
	// All switches of the machine go through the rings.
	out := testkit.Run(t, testkit.PPScript(t), "multi-trace", "-m", "8192", "-e",
		"raw_syscalls:sys_enter", "-e",
		"raw_syscalls:sys_exit,task-state/-g/untraced/", "--order", "--than", "100ms", "--detail=sametid",
		"--format", "json", "--", "taskset", "-c", "0", "sleep", "0.1").Want(t, 0)
	const slept = 2 // S, as task-state numbers states
	found := 0
	type pair struct {
		Delay  int64
		Start  struct{ TID int }
		Events []struct {
			Part, Event string
			Fields      struct{ Task, State, Lasted int64 }
			Stack       []struct{ Symbol string }
		}
	}
	for _, d := range testkit.All[pair](t, out.Stdout, "detail") {
		for _, e := range d.Events {
			f := e.Fields
			if e.Part != "between" || e.Event != "task-state" || f.State != slept ||
				f.Task != int64(d.Start.TID) {
				continue
			}
			found++
			if f.Lasted < 100e6 || f.Lasted > d.Delay {
				t.Errorf("got a sleep of %d ns in a call of %d", f.Lasted, d.Delay)
			}
			if len(e.Stack) == 0 {
				t.Errorf("the sleep has no stack: %+v", d)
			}
		}
	}
	if found != 1 {
		t.Errorf("got %d sleeps, want one\n%s\nstderr: %s", found, out.Stdout, out.Stderr)
	}
}

// Events of one process in another: the sent and received events are the known
// calls, and joined with the receiver's own events they give the same pairs as
// in one process.
func TestPulledEventsJoinLocalOnes(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 3000
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	enter, exit := "raw_syscalls:sys_enter/id == 110/", "raw_syscalls:sys_exit/id == 110/"
	sender := attach(t, l, "trace", "-e", enter+"push=0/")
	sender.WaitStderr("listening at ")
	port := between(sender.Stderr(), "listening at ", "\n")
	pulled := "raw_syscalls:sys_enter//pull=" + port + "/"
	receive := testkit.Start(t, testkit.PPScript(t), "trace", "-e", pulled, "--format", "json")
	joined := attach(t, l, "multi-trace", "-e", pulled+"key=_tid/", "-e", exit+"key=_tid/",
		"--format", "json")
	alone := attach(t, l, "multi-trace", "-e", enter+"key=_tid/", "-e", exit+"key=_tid/", "--format", "json")
	for n := 1; n <= 2; n++ {
		sender.WaitStderrTimes(" connected", n)
	}
	l.Do()
	l.End()
	here := last(t, alone.Wait().Want(t, 0).Stdout).Rows
	there := last(t, joined.Wait().Want(t, 0).Stdout).Rows
	sender.Wait().Want(t, 0)
	lines := testkit.Events(t, receive.Wait().Want(t, 0).Stdout)
	if len(lines) != calls {
		t.Errorf("received %d events, want %d", len(lines), calls)
	}
	for i, e := range lines {
		if e.Comm != "load-0" || e.Event != "raw_syscalls:sys_enter" || i > 0 && e.Time < lines[i-1].Time {
			t.Fatalf("event %d: got %+v, want the call of load-0, in time order", i, e)
		}
	}
	if len(here) != 1 || len(there) != 1 {
		t.Fatalf("got rows\n%v\n%v, want one each", here, there)
	}
	// Each process has its own event for a call, some hundred ns apart.
	if n := there[0].Int(t, "calls"); n != calls || here[0].Int(t, "calls") != calls {
		t.Errorf("got %d pairs with what was pulled, %d without, want %d", n, here[0].Int(t, "calls"), calls)
	}
}

// Two recordings of two CPUs give the same events as one of both.
func TestInputsAreMerged(t *testing.T) {
	live(t, testkit.CPU1)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	record := func(name, cpus string) *testkit.Process {
		p := testkit.Start(t, testkit.PPScript(t), "record", "-v", "-e",
			"sched:sched_wakeup,raw_syscalls:sys_enter/id == 110/", "-C", cpus, "-o", file(name))
		p.WaitStderr(" open event")
		return p
	}
	l := testkit.StartTarget(t, "-getppid", "500", "-cpus", "2")
	first, second := record("0.data", "0"), record("1.data", "1")
	l.Do()
	l.End()
	first.Stop().Want(t, 0)
	second.Stop().Want(t, 0)
	count := func(args ...string) map[string]int64 {
		out := testkit.Run(t,
			append([]string{
				testkit.PPScript(t), "top", "-e",
				"sched:sched_wakeup//key=_cpu/,raw_syscalls:sys_enter//key=_cpu/", "--format", "json",
			}, args...)...).Want(t, 0)
		sums := map[string]int64{}
		for _, r := range last(t, out.Stdout).Rows {
			sums["wakeups"] += r.Int(t, "SCHED_WAKEUP")
			sums["calls"] += r.Int(t, "SYS_ENTER")
		}
		return sums
	}
	a, b := count("--input", file("0.data")), count("--input", file("1.data"))
	both := count("--input", file("0.data"), "--input", file("1.data"))
	if both["calls"] != a["calls"]+b["calls"] || both["wakeups"] != a["wakeups"]+b["wakeups"] ||
		both["calls"] < 1000 {
		t.Errorf("got %v, want the sum of %v and %v, with 1000 calls of getppid", both, a, b)
	}
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-e", "raw_syscalls:sys_enter", "--format", "json",
		"--input", file("0.data"), "--input", file("1.data")).Want(t, 0)
	cpus, at := map[int]bool{}, int64(0)
	for _, e := range testkit.Events(t, out.Stdout) {
		cpus[e.CPU] = true
		if e.Time < at {
			t.Fatalf("%d comes after %d", e.Time, at)
		}
		at = e.Time
	}
	if len(cpus) != 2 {
		t.Errorf("got events of CPUs %v, want both", cpus)
	}
}

// Samples around a slow pair show where the code was, as samples in a log do:
// the target computes, and touches its pages, between two system calls. In text
// they have their profiler's name, and states and times as words.
func TestSamplesAroundAPairTellTheirPlace(t *testing.T) {
	live(t, testkit.AMD64, testkit.Samples)
	args := func(format string) []string {
		return []string{testkit.PPScript(t), "multi-trace", "-m", "2048", "-e", "raw_syscalls:sys_exit", "-e",
			"raw_syscalls:sys_enter,profile/-F 2000/untraced/,page-faults//untraced/,task-state//untraced/",
			"--than", "200us", "--detail=sametid",
			"--format", format, "--", testkit.Load(t), "-fault", "2000", "-spin", "300", "-sleep", "10"}
	}
	out := testkit.Run(t, args("json")...).Want(t, 0)
	type pair struct {
		Events []struct {
			Event  string
			Fields struct{ IP, Addr, Period uint64 }
		}
	}
	n := map[string]int{}
	for _, d := range testkit.All[pair](t, out.Stdout, "detail") {
		for _, e := range d.Events {
			f := e.Fields
			switch {
			case e.Event == "software:cpu-clock" || e.Event == "hardware:cycles":
				if f.IP == 0 || f.Period == 0 {
					t.Errorf("got a sample at %x for %d ns, want both", f.IP, f.Period)
				}
			case e.Event == "software:page-faults":
				if f.IP == 0 || f.Addr == 0 {
					t.Errorf("got a fault of %x at %x, want both", f.Addr, f.IP)
				}
			default:
				continue
			}
			n[e.Event]++
		}
	}
	if n["software:cpu-clock"]+n["hardware:cycles"] < 10 || n["software:page-faults"] < 10 {
		t.Errorf("got %v between the calls, want samples and faults", n)
	}
	text := testkit.Run(t, args("text")...).Want(t, 0).Stdout
	for _, want := range []string{`: profile: \d+ (ns|cycles) ip \S*[^0\s]`,
		`: software:page-faults: addr 0000[0-9a-f]*[1-9a-f][0-9a-f]* ip \S`,
		`: task-state: task=\d+ comm=\S+ state=(R|S|D|RD) lasted=[\d.]+(ns|us|ms|s) open=`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("got no line like %s in\n%.2000s", want, text)
		}
	}
}
