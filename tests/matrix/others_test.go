package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

// The help of each profiler has its purpose, its options and a command line; if
// it takes events, also how to write them.
func TestHelp(t *testing.T) {
	for _, name := range stdlib.Names() {
		r, dashed := matrix[name], strings.ReplaceAll(name, "_", "-")
		out := testkit.Run(t, testkit.PPScript(t), dashed, "--help-all").Want(t, 0).Stdout
		// The prefix bpf: is a part of its name.
		example := regexp.MustCompile(`(?m)^    ppscript (` + dashed + `|bpf:kvm_exit)( |$)`)
		if !example.MatchString(out) || !strings.Contains(out, "\nUsage\n") ||
			!strings.Contains(out, "\nOutput\n") {
			t.Errorf("%s --help-all: got\n%s\nwant an example, its usage and its options", name, head(out))
		}
		if tasks := strings.Contains(out, "-p, --pids"); tasks == r.whole {
			t.Errorf("%s --help-all: got an option -p %v, want %v", name, tasks, !r.whole)
		}
		if !slices.Contains(r.args, "-e") || name == "syscall_trace" { // its -e takes names of system calls
			continue
		}
		testkit.Requires(t, testkit.Root, testkit.Tracefs)
		out = testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), dashed}, r.args,
			[]string{"help"})...).Want(t, 0).Stdout
		_, command, ok := strings.Cut(out, "\n    ppscript "+dashed+" -e ")
		if !ok || !strings.HasPrefix(out, enter+"\n") {
			t.Errorf("%s help: got\n%s\nwant a command line, and the fields of its events", name, head(out))
		}
		if strings.Contains(command, "[-p .]") == r.whole {
			t.Errorf("%s help: got %q, want -p in it: %v", name, command, !r.whole)
		}
	}
}

// A recording of the machines that have the hardware has the numbers that are known.
func TestRecordings(t *testing.T) {
	for _, name := range stdlib.Names() {
		r := matrix[name]
		if reasons := len(r.record) + len(r.recording) + len(r.unrecorded); reasons == 0 {
			t.Errorf("%s: neither a recording nor a reason", name)
		}
		if r.recording == "" {
			continue
		}
		out := testkit.Run(t,
			slices.Concat([]string{
				testkit.PPScript(t), name, "--input", filepath.Join("../data", r.recording), "--format",
				"json",
			}, r.args)...).Want(t, 0)
		if bad := notJSON(out.Stdout); bad != "" {
			t.Errorf("%s: got %q, want one object a line", name, bad)
		}
		if got := r.count(t, out.Stdout)[""]; got != r.number {
			t.Errorf("%s of %s: got %d, want %d", name, r.recording, got, r.number)
		}
	}
}

// Threads that start after ppscript has attached are seen, with every way of
// attaching.
func TestNewThreads(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	testkit.PPScript(t)
	kinds := []struct {
		how  string
		args []string
		seen eventCounter
		who  string // "" if the result does not say; then there is nobody else
		each int64  // 1 means at least one
	}{
		{"perf's events", []string{"trace", "--engine", "perf", "-e", getppid}, lines(enter), "new-0", 25},
		{"counters", []string{"stat", "-e", getppid}, rows("total", ""), "", 25},
		{"programs that count", []string{"num-dist", "-e", getppid + "num=args[0]/"}, rows("calls", ""), "", 25},
		{"projected records", []string{"top", "-e", getppid}, rows("SYS_ENTER", "COMM"), "new-0", 25},
		{"CPUs, and asking who it is", []string{"sched-timehist", "--engine", "perf", "-m", "4096"}, linesBy("run", field("tid")), "new", 1},
		{"programs that ask who it is", []string{"rundelay", "--perins"}, rows("calls", "thread"), "new", 1},
	}
	for _, at := range []string{"-p", "--cgroups"} {
		testkit.Again(t, func() (wrong []string) {
			group := newCgroup(t)
			l := testkit.StartTarget(t, "-thread", "25")
			target := strconv.Itoa(l.PID())
			if at == "--cgroups" {
				if target = group.take(t, l.PID()); target == "" {
					l.End()
					return nil
				}
			}
			before := threads(l.PID())
			var runs []*testkit.Process
			for _, k := range kinds {
				runs = append(runs, testkit.Start(t,
					slices.Concat([]string{testkit.PPScript(t)}, k.args,
						[]string{at, target, "-v", "--format", "json"})...))
			}
			for _, p := range runs {
				p.WaitStderr(" open event")
			}
			l.Do()
			for _, p := range runs {
				p.Signal(syscall.SIGINT)
			}
			for i, k := range kinds {
				out := runs[i].Wait().Want(t, 0)
				got := k.seen(t, out.Stdout)
				for who, n := range got {
					if _, err := strconv.Atoi(who); err == nil && !before[who] {
						got["new"] += n
					}
				}
				if n := got[k.who]; n < k.each || n > k.each && k.each > 1 {
					wrong = append(wrong,
						fmt.Sprintf("%s, %s: got %d of the new thread, want %d; all: %v\n%s", at, k.how, n,
							k.each, got, head(out.Stdout)))
				}
			}
			l.End()
			return wrong
		})
	}
}

// A run that follows threads over all CPUs does this for a cgroup as for a process:
// their whole run time is there.
func TestCgroupsFollowTheirThreads(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Taskset)...)
	testkit.PPScript(t)
	testkit.Again(t, func() []string {
		comm := fmt.Sprintf("mx%d", os.Getpid())
		group := newCgroup(t)
		l := testkit.StartTarget(t, "-paths", "18", "-comm", comm)
		l.OnOneCPU()
		cgroup := group.take(t, l.PID())
		if cgroup == "" {
			l.End()
			return nil
		}
		var runs []*testkit.Process
		for _, at := range [][]string{{"-p", strconv.Itoa(l.PID())}, {"--cgroups", cgroup}} {
			runs = append(runs, testkit.Start(t,
				slices.Concat([]string{
					testkit.PPScript(t), "sched-latency", "-m", "8192", "-v", "--format", "json",
				}, at)...))
		}
		for _, p := range runs {
			p.WaitStderr(" open event")
		}
		l.Do()
		var ran []int64
		for _, p := range runs {
			p.Signal(syscall.SIGINT)
			out := p.Wait().Want(t, 0).Stdout
			if lossy.MatchString(out) {
				t.Log("events were lost, as it says")
				l.End()
				return nil
			}
			ran = append(ran, rows("runtime", "task")(t, out)[comm+"-0"])
		}
		l.End()
		if ran[1] < ran[0]*9/10 || ran[0] == 0 {
			return []string{fmt.Sprintf("got %d ns in the cgroup, want the %d of the process", ran[1],
				ran[0])}
		}
		return nil
	})
}

// threads returns the ids of the threads of a process.
func threads(pid int) map[string]bool {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	tids := map[string]bool{}
	for _, e := range entries {
		tids[e.Name()] = true
	}
	return tids
}

// A profiler that follows threads does so over all CPUs, and refuses -C.
func TestFollowedThreadsTakeNoCPUs(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	for _, name := range []string{"task-state", "rundelay", "oncpu", "sched-latency", "sched-timehist"} {
		out := testkit.Run(t, testkit.PPScript(t), name, "-C", "0", "-p", strconv.Itoa(os.Getpid()))
		if out.Exit != 2 || !strings.Contains(out.Stderr, "hint: leave out -C\n") {
			t.Errorf("%s -C 0 -p: got status %d, %q, want that -C cannot be", name, out.Exit, out.Stderr)
		}
	}
	out := testkit.Run(t, testkit.PPScript(t), "expr", "-p", "1", "1+2")
	if out.Exit != 2 || !strings.Contains(out.Stderr, "no event is looked at") {
		t.Errorf("expr -p: got status %d, %q, want that there is nothing to look at", out.Exit, out.Stderr)
	}
}

// Each profiler that has events is a source of other profilers; the rest give a
// reason.
func TestSources(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	testkit.PPScript(t)
	for _, name := range stdlib.Names() {
		r, dashed := matrix[name], strings.ReplaceAll(name, "_", "-")
		if r.noSource == counts {
			options := ""
			if slices.Contains(r.args, "-e") {
				options = "'-e sched:sched_switch'"
			}
			out := testkit.Run(t, testkit.PPScript(t), "trace", "-C", "0", "-e", dashed+"/"+options+"/")
			if out.Exit != 2 || !strings.Contains(out.Stderr, "cannot be a source") {
				t.Errorf("%s: got status %d, %q, want that it has no events", name, out.Exit, out.Stderr)
			}
		}
		if r.noSource != "" {
			continue
		}
		t.Run(name, func(t *testing.T) { source(t, dashed, r) })
	}
}

// source runs a trace that has a profiler as its source.
func source(t *testing.T, dashed string, r row) {
	testkit.Requires(t, r.needs...)
	s := scenes[r.scene](t)
	load, target := s.load, []string(nil)
	if s.command != nil {
		load = s.command
	}
	command := append([]string{"--", testkit.Load(t)}, load...)
	if r.whole {
		target, command = []string{"-C", "0", "--duration", "30s"}, nil
	}
	options := s.fill(t, []string{r.source})[0]
	if !strings.HasPrefix(options, `"`) && options != "" {
		options = "'" + options + "'"
	}
	testkit.Again(t, func() []string {
		args := slices.Concat([]string{
			testkit.PPScript(t), "trace", "-m", "4096", "--format", "json", "-N", "1",
		}, target,
			[]string{"-e", dashed + "/" + options + "/"}, command)
		out := testkit.Run(t, args...)
		// Pairs are shown by both of their events.
		if out.Exit != 0 || len(testkit.Events(t, out.Stdout)) == 0 {
			return []string{fmt.Sprintf("%s: got status %d, want an event\n%s\n%s", dashed, out.Exit,
				head(out.Stdout), out.Stderr)}
		}
		return nil
	})
}
