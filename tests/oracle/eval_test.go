package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// An evaluation is the sum of the --perfeval-* reports of a run.
type evaluation struct {
	Occurred, Reached int64
	Instances         int
	Exceeds           int64
	reports           int
	places            map[string]evaluation // by CPU or thread
	other             map[string]int64
}

func evaluated(t *testing.T, output string) (sum evaluation) {
	t.Helper()
	sum.places, sum.other = map[string]evaluation{}, map[string]int64{}
	for _, r := range testkit.Records(t, output) {
		if !strings.HasPrefix(r.Type, "perfeval") {
			continue
		}
		var e evaluation
		fields := map[string]any{}
		if err := json.Unmarshal(r.Data, &e); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Data, &fields); err != nil {
			t.Fatal(err)
		}
		if r.Type == "perfeval_instance" {
			place := "cpu"
			if fields[place] == nil {
				place = "tid"
			}
			place += fmt.Sprint(" ", fields[place])
			before := sum.places[place]
			sum.places[place] = evaluation{
				Occurred: before.Occurred + e.Occurred, Reached: before.Reached + e.Reached,
			}
			continue
		}
		sum.reports++
		sum.Occurred, sum.Reached = sum.Occurred+e.Occurred, sum.Reached+e.Reached
		sum.Instances, sum.Exceeds = e.Instances, e.Exceeds
		for name, value := range fields {
			if strings.HasSuffix(name, "_ns") {
				sum.other[name] += int64(value.(float64))
			}
		}
	}
	if sum.reports == 0 {
		t.Fatalf("no report in %q", output)
	}
	return sum
}

// threadsOf returns the ids of the threads of a process.
func threadsOf(t *testing.T, pid int) (tids []string) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		tids = append(tids, e.Name())
	}
	return tids
}

const (
	getppidCall = "syscalls:sys_enter_getppid"
	// openat by a descriptor that the load never uses.
	noOpenat = "syscalls:sys_enter_openat/dfd == 77/"
)

// --perfeval-cpus and -pids report the known number of events that occurred,
// which equals perf stat's, and the known number that passed the filters, with
// every way of delivery.
func TestPerfevalIsKnown(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	_, err := os.Stat("/sys/kernel/tracing/events/syscalls/sys_enter_getppid")
	testkit.Requires(t, testkit.Core("a kernel with CONFIG_FTRACE_SYSCALLS", err))
	l := testkit.StartTarget(t, "-getppid", "300", "-fail", "20")
	const rounds, passed, happened = 3, 3 * 300, 3 * 320
	pid := strconv.Itoa(l.PID())
	tids := threadsOf(t, l.PID())
	tables := []string{
		"num-dist", "-e", getppidCall + "//num=1/," + noOpenat + "num=1/", "--format", "json", "-v",
		"-i", "50ms",
	}
	log := []string{"trace", "-e", getppidCall + "," + noOpenat, "--format", "json", "-v", "-i", "50ms"}
	lines := []string{"-c", `pipeline = merge(tracepoint("` + getppidCall +
		`"), tracepoint("syscalls:sys_enter_openat").where("dfd == 77"))
pipeline.by("common_pid").count()`, "--format", "json", "-v"}
	// Only programs can read the number of runnable threads.
	moments := []string{"-c", `merge(tracepoint("` + getppidCall +
		`").where("nr_running >= 1"), tracepoint("syscalls:sys_enter_openat").where("nr_running >= 1 && dfd == 77")).log()`,
		"--format", "json", "-v"}
	f := func(name, words string, args []string, exact bool, more ...string) (check func()) {
		t.Helper()
		p := testkit.Start(t, append(append([]string{testkit.PPScript(t)}, args...), more...)...)
		p.WaitStderr("perfeval: ")
		if words != "" {
			p.WaitStderr(words)
		}
		return func() {
			t.Helper()
			got := evaluated(t, p.Stop().Want(t, 0).Stdout)
			if got.Reached != passed || got.Occurred < happened || exact && got.Occurred != happened {
				t.Errorf("%s: got %d events that occurred and %d that came, want %d (exactly: %v) and %d",
					name, got.Occurred, got.Reached, happened, exact, passed)
			}
			var occurred, reached int64
			for _, place := range got.places {
				occurred, reached = occurred+place.Occurred, reached+place.Reached
			}
			if len(got.places) != got.Instances || occurred != got.Occurred || reached != got.Reached {
				t.Errorf("%s: got %v, want %d that add up to %d and %d", name, got.places, got.Instances,
					got.Occurred, got.Reached)
			}
			if exact && got.Instances != len(tids) || !exact && got.places["cpu 0"].Reached != passed {
				t.Errorf("%s: got %v, want each thread of %v, or all on CPU 0", name, got.places, tids)
			}
		}
	}
	checks := []func(){
		f("rings", "", tables, true, "--engine", "perf", "--perfeval-pids", pid, "-p", pid),
		f("rings for programs", "programs do not count by thread", tables, true, "--perfeval-pids", pid, "-p", pid),
		f("log", "", log, true, "--perfeval-pids", pid, "-p", pid),
		f("rings of CPUs", "", tables, false, "--engine", "perf", "--perfeval-cpus", "0", "-p", pid),
		f("rings of threads", "", tables, false, "--engine", "perf", "--perfeval-cpus", "0", "-t",
			strings.Join(tids, ",")),
		f("programs", "bpf: ", tables, false, "--engine", "bpf", "--perfeval-cpus", "0", "-p", pid),
		f("programs at the end", "bpf: ", lines, false, "--engine", "bpf", "--perfeval-cpus", "0", "-p", pid),
		f("projected records", "sends projected records", moments, false, "--perfeval-cpus", "0", "-p", pid),
		f("projected records of threads", "sends projected records", moments, true, "--perfeval-pids", pid, "-p", pid),
	}
	perf := attachPerf(t, l, "stat", "-x,", "-e", getppidCall+",syscalls:sys_enter_openat")
	for range rounds {
		l.Do()
	}
	counts := perfCounts(t, perf.end())
	if n := counts[getppidCall] + counts["syscalls:sys_enter_openat"]; n != happened {
		t.Errorf("perf stat counts %d events, want %d", n, happened)
	}
	for _, check := range checks {
		check()
	}
	l.End()
}

// The events that occurred are those that arrived and those that were lost.
func TestPerfevalKnowsLosses(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "20000")
	p := attach(t, l, "--engine", "perf", "--format", "json", "-m", "1", "-c",
		`tracepoint("`+getppidCall+`").count()`, "--perfeval-pids", strconv.Itoa(l.PID()))
	p.Suspend()
	l.Do()
	p.Signal(syscall.SIGCONT)
	out := p.Stop().Want(t, 0).Stdout
	got, lost := evaluated(t, out), last(t, out).Loss["lost"]
	if got.Occurred != 20000 || got.Reached+lost != 20000 || lost == 0 || got.Reached == 0 {
		t.Errorf("got %d that occurred, %d that came and %d lost, want 20000, and as many together",
			got.Occurred, got.Reached, lost)
	}
	l.End()
}

// The limit applies to the evaluated CPUs or threads, with rings and with
// programs.
func TestPerfevalLimits(t *testing.T) {
	live(t, testkit.AMD64)
	l := testkit.StartTarget(t, "-getppid", "300")
	pid := strconv.Itoa(l.PID())
	f := func(name, place string, args ...string) {
		t.Helper()
		p := testkit.Start(t,
			append([]string{
				testkit.PPScript(t), "num-dist", "-e", getppidCall + "//num=1/", "--format", "json",
				"-v", "-p", pid, "--sampling-limit", "5",
			}, args...)...)
		p.WaitStderr("perfeval: ")
		stop := l.Work()
		out := p.Wait().Want(t, 0)
		stop()
		got := evaluated(t, out.Stdout)
		if got.Exceeds != 5 || got.Reached < 5 || len(got.places) != got.Instances ||
			!strings.Contains(out.Stderr, "sampling-limit: "+place) {
			t.Errorf("%s: got %+v and %q, want a limit of 5 that is exceeded, and all places",
				name, got, out.Stderr)
		}
	}
	f("rings", "CPU 0 sent ", "--engine", "perf", "--perfeval-cpus", "0")
	f("programs", "CPU 0 sent ", "--engine", "bpf", "--perfeval-cpus", "0")
	f("threads", "thread ", "--engine", "perf", "--perfeval-pids", pid)

	// No event of other processes reaches ppscript, so nothing ends the run.
	idle := testkit.StartTarget(t)
	p := testkit.Start(t, testkit.PPScript(t), "num-dist", "-e", getppidCall+"//num=1/", "--format", "json",
		"-v", "--engine", "perf", "-p", pid,
		"--sampling-limit", "5", "--perfeval-pids", strconv.Itoa(idle.PID()), "--duration", "1500ms")
	p.WaitStderr("perfeval: ")
	stop := l.Work()
	out := p.Wait().Want(t, 0)
	stop()
	if got := evaluated(t, out.Stdout); got.Exceeds != 0 || got.Reached != 0 ||
		last(t, out.Stdout).TotalSamples == 0 {
		t.Errorf("another process: got %+v, want events, none of them from there", got)
	}
	idle.End()
	l.End()
}

// Clocks are reported as times, not as numbers of events.
func TestPerfevalOfClocks(t *testing.T) {
	live(t, testkit.Samples)
	out := testkit.Run(t, testkit.PPScript(t), "--format", "json", "--engine", "perf", "-c",
		`software("cpu-clock", freq = 100).count()`, "--perfeval-cpus", "0",
		"--duration", "1s").Want(t, 0)
	got := evaluated(t, out.Stdout)
	ns := got.other["software:cpu-clock_ns"] + got.other["cpu-clock_ns"]
	if got.Occurred != 0 || ns < 9e8 || got.Reached == 0 || got.Reached > ns/1e7+2 {
		t.Errorf("got %+v (%s), want the time of a second and more, and at most a sample for each 10 ms", got,
			filepath.Base(out.Stdout))
	}
}
