package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"ppscript/tests/testkit"
)

// A program at a tracepoint can hide its hits from every other observer.
// ppscript's programs do not, whatever they select: perf stat and perf record
// see all hits.
func TestProgramsHideNothing(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64, testkit.Samples)
	const calls, faults = 3000, 200
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-switch", "500", "-fault", fmt.Sprint(faults))
	var ours []*testkit.Process
	fold := filepath.Join(t.TempDir(), "fold.star")
	if err := os.WriteFile(fold, []byte(`
def step(s, e):
    s.n += 1
    if s.n > 1 << 40:
        emit(n = s.n)

def main(o):
    return [tracepoint(e).where("_tid").fold("_tid", {"n": 0}, step).by("n").count() for e in ("sched:sched_switch", "syscalls:sys_enter_getppid")]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ours = append(ours, attach(t, l, "--engine", "bpf", fold))
	for _, program := range []string{
		`tracepoint("raw_syscalls:sys_enter").where("id == 9999").count()`,
		`tracepoint("syscalls:sys_enter_getppid").where("__syscall_nr == 9999").count()`,
		`tracepoint("sched:sched_switch").where("prev_comm == \"nobody\"").by("prev_comm").count()`,
		`join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid").by("start.id").agg(p = agg.quantile("delay", 0.9))`,
		`tracepoint("sched:sched_switch").stack().stacks()`,
		`tracepoint("syscalls:sys_enter_getppid").stack(kernel = False).by("stack").count()`,
		`sample(freq = 997, event = "cpu-clock").stack().stacks()`,
		`software("page-faults").where("_pid == 0").by("comm").count()`,
		`tracepoint("sched:sched_switch").where("traced(next_pid) && next_prio > 1000").count()`,
		// Programs that send events.
		`tracepoint("raw_syscalls:sys_exit").where("id * 2 == 19998").agg(x = agg.distinct("ret"))`,
		`tracepoint("syscalls:sys_enter_getppid").where("nr_running > 100000").log()`,
		`tracepoint("sched:sched_switch").where("prev_prio - next_prio > 1000").agg(x = agg.distinct("next_pid"))`,
	} {
		ours = append(ours, attach(t, l, "--engine", "bpf", "-c", program))
	}
	for _, source := range []string{`sample(freq = 997, event = "cpu-clock")`, `software("page-faults")`} {
		ours = append(ours, attach(t, l, "-c", source+`.where("nr_running > 100000").log()`))
	}
	failing := attach(t, l, "--engine", "bpf", "-c",
		`tracepoint("sched:sched_switch").by(x = "1 / (prev_prio - prev_prio)").count()`)
	ours = append(ours, failing)
	recorded := attachPerf(t, l, "record", "-q", "-m", "1024", "-e", "syscalls:sys_enter_getppid", "-e",
		"sched:sched_switch")
	// This one runs alone: the kernel marks a page fault with the id of the first
	// event that observes it, also without programs, so perf confuses such events.
	faulty := attachPerf(t, l, "record", "-q", "-c", "1", "-e", "page-faults")
	quiet := attachPerf(t, l, "stat", "-x,", "-e", "syscalls:sys_enter_getppid", "-e", "sched:sched_switch")
	native := attach(t, l, "--engine", "perf", "--format", "json", "-c",
		`tracepoint("sched:sched_switch").count()`)
	l.Do()
	counts := perfCounts(t, quiet.end())
	lines := map[string]int64{}
	for _, file := range []string{recorded.end(), faulty.end()} {
		for line := range strings.Lines(testkit.Run(t, "perf", "script", "-i", file, "-F", "comm,event").
			Want(t, 0).Stdout) {
			words := strings.Fields(line)
			lines[strings.TrimSuffix(words[len(words)-1], ":")]++
		}
	}
	switches := last(t, native.Stop().Want(t, 0).Stdout).Rows[0].Int(t, "count")
	for _, p := range ours {
		status := 0
		if p == failing {
			status = 1 // a run with only errors fails
		}
		p.Stop().Want(t, status)
	}
	l.End()
	if n := counts["syscalls:sys_enter_getppid"]; n != calls || lines["syscalls:sys_enter_getppid"] != calls {
		t.Errorf("perf stat: got %d calls, perf record %d, want %d",
			n, lines["syscalls:sys_enter_getppid"], calls)
	}
	if n := lines["page-faults"]; n < faults {
		t.Errorf("perf record: got %d page faults, want %d at least", n, faults)
	}
	// The two are not attached at the same moment.
	if s := counts["sched:sched_switch"]; s < 1000 || s-switches > 20 || switches-s > 20 {
		t.Errorf("perf stat: got %d switches, want the %d of our native tier", s, switches)
	}
	if s := lines["sched:sched_switch"]; s < 1000 || s-switches > 20 || switches-s > 20 {
		t.Errorf("perf record: got %d switches, want the %d of our native tier", s, switches)
	}
}

// kill -9 leaves no program, map or link behind.
func TestKilledLeavesNothing(t *testing.T) {
	live(t, testkit.Samples)
	l := testkit.StartTarget(t, "-getppid", "10")
	p := attach(t, l, "--engine", "bpf", "-c",
		`[sample(freq = 99, event = "cpu-clock").stack().stacks(), tracepoint("sched:sched_switch").stack().by("stack").count(), join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit"), tracepoint("sched:sched_process_exit")], key = "tid").by("start.id").agg(p = agg.quantile("delay", 0.9))]`)
	ids := kernelObjects(t, p.PID())
	if len(ids["prog"]) < 5 || len(ids["map"]) < 10 || len(ids["link"]) < 2 {
		t.Fatalf("got %v, want programs, maps and links", ids)
	}
	p.Signal(syscall.SIGKILL)
	p.Wait()
	open := map[string]func(id uint32) error{
		"prog": func(id uint32) error {
			x, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
			x.Close()
			return err
		},
		"map":  func(id uint32) error { x, err := ebpf.NewMapFromID(ebpf.MapID(id)); x.Close(); return err },
		"link": func(id uint32) error { _, err := link.NewFromID(link.ID(id)); return err },
	}
	for kind, list := range ids {
		for _, id := range list {
			// The kernel frees them a grace period later.
			deadline := time.Now().Add(60 * time.Second)
			for ; open[kind](id) == nil; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Errorf("%s %d is still there", kind, id)
					break
				}
			}
		}
	}
	l.Do()
	l.End()
}

var fdinfoID = regexp.MustCompile(`(?m)^(prog|map|link)_id:\t(\d+)$`)

// kernelObjects returns the ids of the kernel objects that a process holds.
func kernelObjects(t *testing.T, pid int) map[string][]uint32 {
	t.Helper()
	ids := map[string][]uint32{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, m := range fdinfoID.FindAllStringSubmatch(string(text), -1) {
			id, _ := strconv.ParseUint(m[2], 10, 32)
			ids[m[1]] = append(ids[m[1]], uint32(id))
		}
	}
	return ids
}

// getppids returns the number of calls of getppid that programs counted.
func getppids(t *testing.T, out testkit.Output) (n int64) {
	t.Helper()
	for _, r := range last(t, out.Want(t, 0).Stdout).Rows {
		if r.Int(t, "id") == 110 {
			n += r.Int(t, "count")
		}
	}
	return n
}

const countEnter = `tracepoint("raw_syscalls:sys_enter").by("id").count()`

// The events of a workload and its children count from its execve on; those of
// children do not if they are not followed.
func TestKernelWorkload(t *testing.T) {
	live(t, testkit.AMD64)
	load := testkit.Load(t)
	f := func(want int64, script string, options ...string) {
		t.Helper()
		args := append([]string{testkit.PPScript(t), "--engine", "bpf", "--format", "json", "-c", countEnter},
			options...)
		got := getppids(t, testkit.Run(t, append(args, "--", "sh", "-c", script)...))
		// A shell calls getppid too.
		if got < want || got > want+5 {
			t.Errorf("%s %v: got %d calls, want %d", script, options, got, want)
		}
	}
	f(100, load+" -getppid 100")
	f(300, load+" -getppid 100 & "+load+" -getppid 200; wait")
	f(1000, "for i in 1 2 3 4 5 6 7 8 9 10; do "+load+" -getppid 100; done")
	f(0, "true; "+load+" -getppid 100", "--inherit=no")
}

// Threads and CPUs: the same target in both engines.
func TestKernelTargets(t *testing.T) {
	live(t, testkit.AMD64, testkit.CPU1)
	const calls = 500
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-cpus", "2")
	var workers []string
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", l.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if comm := read(t, task+"/comm"); strings.HasPrefix(comm, "load-") {
			workers = append(workers, filepath.Base(task))
		}
	}
	if len(workers) != 2 {
		t.Fatalf("got workers %v, want two", workers)
	}
	pid := fmt.Sprint(l.PID())
	type engine struct {
		p    *testkit.Process
		want int64
		args []string
	}
	var engines []engine
	f := func(want int64, args ...string) {
		t.Helper()
		args = append([]string{"--engine", "bpf", "--format", "json", "-v", "-c", countEnter}, args...)
		p := testkit.Start(t, append([]string{testkit.PPScript(t)}, args...)...)
		p.WaitStderr(" open event")
		engines = append(engines, engine{p, want, args})
	}
	f(2*calls, "-p", pid)
	f(2*calls, "-p", pid+","+fmt.Sprint(os.Getpid()))
	f(2*calls, "-p", pid, "--inherit")
	f(calls, "-t", workers[0])
	f(2*calls, "-t", workers[0]+","+workers[1])
	f(calls, "-p", pid, "-C", "0")
	f(2*calls, "-p", pid, "-C", "0,1")
	f(calls, "-C", "1", "-p", pid)
	l.Do()
	for _, x := range engines {
		if got := getppids(t, x.p.Stop()); got != x.want {
			t.Errorf("%v: got %d calls, want %d", x.args, got, x.want)
		}
	}
	l.End()
}
