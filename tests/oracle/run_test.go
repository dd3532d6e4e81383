package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

const ppid = `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`

// The intervals' tables add up to the table without intervals.
func TestIntervalsAddUp(t *testing.T) {
	live(t, testkit.AMD64)
	// 5 x (400 ms of sleep): 20 intervals and more.
	l := testkit.StartTarget(t, "-getppid", "700", "-sleep", "300", "-spin", "150")
	f := func(name string, sum func(r testkit.Row) int64, want int64, args ...string) (check func()) {
		t.Helper()
		p := attach(t, l, append([]string{"--format", "json", "-i", "20ms"}, args...)...)
		return func() {
			t.Helper()
			tables := testkit.Tables(t, p.Stop().Want(t, 0).Stdout)
			got, samples := int64(0), int64(0)
			for i, table := range tables {
				noLoss(t, table)
				for _, r := range table.Rows {
					got += sum(r)
				}
				samples += table.Samples
				if table.Final != (i == len(tables)-1) {
					t.Errorf("%s: table %d of %d: got final %v", name, i, len(tables), table.Final)
				}
			}
			if len(tables) < 5 || got != want {
				t.Errorf("%s: got %d in %d tables, want %d in at least 5", name, got, len(tables), want)
			}
			if total := tables[len(tables)-1].TotalSamples; samples != total {
				t.Errorf("%s: got %d samples in all tables, want %d", name, samples, total)
			}
		}
	}
	count := func(r testkit.Row) int64 { return r.Int(t, "count") }
	checks := []func(){
		f("count", count, 3*700, "-c", ppid+".count()"),
		f("by", count, 3*700, "-c", ppid+`.by(low = "args[0] & 7").count()`),
		f("top", func(r testkit.Row) int64 {
			return r.Int(t, "SYS_ENTER")
		}, 3*1000, "top", "-e", enter+"/id == 110 || id == 230/key=id/"),
		f("syscalls", func(r testkit.Row) int64 {
			return r.Int(t, "calls")
		}, 3*300, "syscalls", "-e", enter+"/id == 230/", "-e", leave+"/id == 230/"),
		f("stat", func(r testkit.Row) int64 {
			return r.Int(t, "total")
		}, 3*1000, "stat", "--period", "10ms", "-e", enter+"/id == 110 || id == 230/"),
	}
	for range 3 {
		l.Do()
	}
	for _, check := range checks {
		check()
	}
	l.End()
}

// -N stops after exactly that many events.
func TestExitN(t *testing.T) {
	live(t, testkit.AMD64)
	f := func(n int64, program string) {
		t.Helper()
		out := testkit.Run(t, testkit.PPScript(t), "--format", "json", "-N", fmt.Sprint(n), "-c", program,
			"--", testkit.Load(t), "-getppid", "5000").Want(t, 0)
		if got := last(t, out.Stdout).Rows[0].Int(t, "count"); got != n {
			t.Errorf("-N %d %s: got %d", n, program, got)
		}
	}
	f(1, ppid+".count()")
	f(1000, ppid+".count()")
	f(777, `merge(tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")).count()`)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "--format", "json", "-N", "37", "-e", enter+","+leave,
		"--", testkit.Load(t), "-getppid", "500").Want(t, 0)
	if got := len(testkit.Events(t, out.Stdout)); got != 37 {
		t.Errorf("trace -N 37: got %d lines", got)
	}

	// If the result is lines, printed lines are counted: not events that a
	// condition leaves out, nor those about ppscript itself; other results are
	// of the same events.
	lines := func(args ...string) string {
		t.Helper()
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "--format", "json", "-N", "20"},
			args...)...).Want(t, 0)
		if got := len(testkit.Events(t, out.Stdout)); got != 20 {
			t.Errorf("%v: got %d lines, want 20", args, got)
		}
		return out.Stdout
	}
	lines("-c",
		`tracepoint("raw_syscalls:sys_enter").where(lambda e: e.id == 110 and e.time.ns % 3 == 0).log()`,
		"--", testkit.Load(t), "-getppid", "5000")
	lines("trace", "-m", "2048", "-e", "sched:sched_switch", "--system", "--", testkit.Load(t), "-getppid",
		"20000", "-sleep", "2000")
	both := lines("-c",
		`[tracepoint("raw_syscalls:sys_enter").where("id == 110").log(), tracepoint("raw_syscalls:sys_enter").by("id").count()]`,
		"--", testkit.Load(t), "-getppid", "5000")
	for _, r := range last(t, both).Rows {
		if r.Int(t, "id") == 110 && r.Int(t, "count") != 20 {
			t.Errorf("got %d calls in the table beside 20 lines", r.Int(t, "count"))
		}
	}
}

// A flame graph replaces the lines, so the events whose stacks it adds up are
// counted.
func TestExitNOfStacks(t *testing.T) {
	live(t, testkit.AMD64, testkit.Samples)
	f := func(n int, args ...string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "out.folded")
		command := append([]string{testkit.PPScript(t)}, args...)
		command = append(command, "-g", "--flame-graph", file, "-N", fmt.Sprint(n), "--", testkit.Load(t),
			"-getppid", "3000000")
		started := time.Now()
		out := testkit.Run(t, command...).Want(t, 0)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			count, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				t.Fatalf("%v: %q: %v", args, line, err)
			}
			sum += count
		}
		if sum != n || out.Stdout != "" {
			t.Errorf("%v -N %d: got stacks of %d events after %v, and %q", args, n, sum,
				time.Since(started), out.Stdout)
		}
	}
	f(10, "profile", "-F", "997")
	f(10, "profile", "-F", "997", "--user-callchain=fp")
	f(37, "trace", "-e", enter)
	f(20, "trace", "-e", "raw_syscalls:sys_enter/id == 110/,"+leave)
}

// Processes that the command starts, one after the other and at the same time,
// belong to it.
func TestChildrenAreFollowed(t *testing.T) {
	live(t, testkit.AMD64)
	command := []string{
		"--", "sh", "-c", `"$0" -sleep 10; "$0" -sleep 5 & "$0" -sleep 7 & wait`, testkit.Load(t),
	}
	f := func(column string, args ...string) {
		t.Helper()
		out := testkit.Run(t, append(append([]string{testkit.PPScript(t), "--format", "json"}, args...),
			command...)...).Want(t, 0)
		got := int64(0)
		for _, table := range testkit.Tables(t, out.Stdout) {
			noLoss(t, table)
			for _, r := range table.Rows {
				got += r.Int(t, column)
			}
		}
		if got != 22 {
			t.Errorf("%v: got %d, want the 22 sleeps of three processes", args, got)
		}
	}
	f("count", "-c", `tracepoint("raw_syscalls:sys_enter", filter = "id == 230").count()`)
	f("total", "stat", "-e", enter+"/id == 230/")
	f("calls", "syscalls", "-e", enter+"/id == 230/", "-e", leave)
}

// --system observes other processes while the command runs.
func TestSystem(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "39000")
	p := testkit.Start(t, testkit.PPScript(t), "--format", "json", "--system", "-v", "-c",
		fmt.Sprintf(
			`tracepoint("raw_syscalls:sys_enter").where("id == 110 && args[0] == 38999 && _pid == %d").count()`,
			l.PID()), "--", "sleep", "1000")
	p.WaitStderr(" open event")
	l.Do()
	l.Do()
	if got := last(t, p.Stop().Want(t, 0).Stdout).Rows[0].Int(t, "count"); got != 2 {
		t.Errorf("got %d calls of another process, want 2", got)
	}
	l.End()
}

// --duration ends the run, and shows the results so far.
func TestDuration(t *testing.T) {
	live(t)
	f := func(args ...string) {
		t.Helper()
		out := testkit.Run(t, append([]string{testkit.PPScript(t)}, args...)...).Want(t, 0)
		// Run checks that it ends at all.
		if out.Took < 300*time.Millisecond {
			t.Errorf("%v: ended after %v, want 300 ms and a little", args, out.Took)
		}
	}
	f("--duration", "300ms", "-C", "0", "-c", `tracepoint("sched:sched_switch").count()`)
	f("trace", "-e", "raw_syscalls:sys_enter/id == 9999/", "--duration", "300ms")
	f("stat", "-e", "sched:sched_switch", "--duration", "300ms", "-C", "0")
	f("record", "-e", "sched:sched_switch", "-C", "0", "--duration", "300ms", "-o",
		filepath.Join(t.TempDir(), "x.data"))
	f("top", "-e", enter, "--duration", "0.3", "--", "sleep", "1000")
}

// --sampling-limit ends a run whose events come too fast, and only such a run.
func TestSamplingLimit(t *testing.T) {
	live(t)
	busy := []string{"--", "sh", "-c", "while :; do kill -0 $$; done"}
	args := []string{
		testkit.PPScript(t), "num-dist", "-e", "raw_syscalls:sys_enter//num=id/", "--engine", "perf",
	}
	out := testkit.Run(t, slices.Concat(args, []string{"--sampling-limit", "5"}, busy)...)
	want := regexp.MustCompile(
		`sampling-limit: CPU \d+ sent \d+ events in [\d.]+s, \d+ a second, more than 5: the run ends\n`)
	if !want.MatchString(out.Stderr) || !strings.Contains(out.Stdout, "sys_enter") {
		t.Errorf("got %q and %q, want the results and %v", out.Stdout, out.Stderr, want)
	}
	out = testkit.Run(t, slices.Concat(args,
		[]string{"--sampling-limit", "1000000000", "--duration", "1500ms"}, busy)...)
	if strings.Contains(out.Stderr, "sampling-limit") || out.Took < 1500*time.Millisecond {
		t.Errorf("got %q after %v, want nothing about the limit, after the duration", out.Stderr, out.Took)
	}
}

// SIGINT and SIGTERM end the run in order: results are shown, and the status
// is 0.
func TestSignals(t *testing.T) {
	live(t, testkit.AMD64)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		l := testkit.StartTarget(t, "-getppid", "400")
		p := attach(t, l, "--format", "json", "-c", ppid+".count()")
		l.Do()
		p.Signal(sig)
		out := p.Wait().Want(t, 0)
		if got := last(t, out.Stdout).Rows[0].Int(t, "count"); got != 400 {
			t.Errorf("%v: got %d, want 400", sig, got)
		}
		l.End()
	}
}

// The lines of several CPUs come in the order of time.
func TestTraceIsInOrder(t *testing.T) {
	live(t, testkit.CPU1, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "--format", "json", "-e",
		enter+"/id == 110/,"+leave+"/id == 110/",
		"--", testkit.Load(t), "-cpus", "2", "-getppid", "3000").Want(t, 0)
	var before int64
	perCPU := map[int]int{}
	for i, e := range testkit.Events(t, out.Stdout) {
		if e.Time < before {
			t.Fatalf("line %d: got time %d after %d", i, e.Time, before)
		}
		before = e.Time
		perCPU[e.CPU]++
	}
	if perCPU[0] != 6000 || perCPU[1] != 6000 {
		t.Errorf("got %v lines by CPU, want 6000 on each", perCPU)
	}
}

// tracefsState returns the state that users of tracefs can change.
func tracefsState(t *testing.T) map[string]bool {
	t.Helper()
	state := map[string]bool{}
	dirs, err := os.ReadDir("/sys/kernel/tracing/instances")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		state["instance "+d.Name()] = true
	}
	for _, name := range []string{
		"kprobe_events", "uprobe_events", "dynamic_events", "set_event", "tracing_on",
	} {
		text, err := os.ReadFile("/sys/kernel/tracing/" + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			state[name+": "+strings.TrimSpace(line)] = true
		}
	}
	return state
}

// After kill -9 nothing remains: no state in tracefs, no command, no events.
func TestKillLeavesNothing(t *testing.T) {
	live(t)
	before := tracefsState(t)
	for _, args := range [][]string{
		{"trace", "-e", "sched:sched_switch"},
		{"stat", "-e", "sched:sched_switch,page-faults"},
		{"record", "-e", "sched:sched_switch", "-o", filepath.Join(t.TempDir(), "x.data")},
	} {
		p := testkit.Start(t, append(append([]string{testkit.PPScript(t)}, args...), "-v", "--", "sh", "-c",
			"echo pid $$; exec sleep 60")...)
		p.WaitStdout("pid ")
		var workload int
		if _, err := fmt.Sscanf(p.Stdout()[strings.Index(p.Stdout(), "pid "):], "pid %d",
			&workload); err != nil {
			t.Fatal(err)
		}
		if !testkit.Alive(workload) {
			t.Errorf("%v: the command does not run", args)
		}
		p.Signal(syscall.SIGKILL)
		p.Wait()
		deadline := time.Now().Add(30 * time.Second)
		for ; testkit.Alive(workload); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%v: the command outlives ppscript", args)
				if err := syscall.Kill(workload, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				break
			}
		}
	}
	// Others use tracefs at the same time, and clean up. State that a killed
	// process left would stay.
	left := tracefsState(t)
	maps.DeleteFunc(left, func(what string, _ bool) bool { return before[what] })
	for deadline := time.Now().Add(20 * time.Second); len(left) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("tracefs: left behind: %v", slices.Sorted(maps.Keys(left)))
			break
		}
		now := tracefsState(t)
		maps.DeleteFunc(left, func(what string, _ bool) bool { return !now[what] })
	}
}

// A command inherits the same files as without ppscript.
func TestWorkloadHasNoFilesOfOurs(t *testing.T) {
	live(t)
	list := []string{"ls", "/proc/self/fd"}
	want := testkit.Run(t, list...).Want(t, 0).Stdout
	for _, name := range []string{"top", "stat", "trace"} {
		args := []string{
			testkit.PPScript(t), name, "-o", filepath.Join(t.TempDir(), "out"), "-e",
			"sched:sched_process_exit", "--",
		}
		if got := testkit.Run(t, append(args, list...)...).Want(t, 0).Stdout; got != want {
			t.Errorf("%s: the command has the files %q, want %q", name, got, want)
		}
	}
}

// The command does not get the secret of push= and pull=: its environment,
// which its user can read in /proc, is the caller's without the secret.
func TestWorkloadDoesNotInheritTheToken(t *testing.T) {
	live(t)
	t.Setenv("PPSCRIPT_TOKEN", "secret-of-ours")
	for _, name := range []string{"top", "stat", "trace", "record"} {
		r := testkit.Run(t, testkit.PPScript(t), name, "-o", filepath.Join(t.TempDir(), "out"), "-e",
			"sched:sched_process_exit", "--", "env").Want(t, 0)
		if strings.Contains(r.Stdout, "secret-of-ours") || !strings.Contains(r.Stdout, "PATH=") {
			t.Errorf("%s: the command's environment is %q, want all but PPSCRIPT_TOKEN", name, r.Stdout)
		}
	}
}

// The events that remain in overwritten rings are shown in time order, oldest
// first. The rings get only the command's events: those of the whole machine
// would end with ppscript's own system calls, which are not shown.
func TestOverwrittenRingsAreInOrder(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-e", "sched:sched_switch,raw_syscalls:sys_enter",
		"--overwrite", "-m", "1", "--format", "json",
		"--", testkit.Load(t), "-switch", "200", "-getppid", "2000").Want(t, 0)
	events := testkit.Events(t, out.Stdout)
	if len(events) < 30 {
		t.Fatalf("got %d events, want those of full rings", len(events))
	}
	for i, e := range events[1:] {
		if e.Time < events[i].Time {
			t.Fatalf("event %d: got the time %d behind %d", i+1, e.Time, events[i].Time)
		}
	}
}
