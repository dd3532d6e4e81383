package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

func TestPIDFollowsThreadsButNotChildren(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}}})
	h.do("call 10")
	h.do("thread 200") // made after the attach
	h.do("fork 3000")
	c := drain(t, s)
	if c.samples[0] != 210 {
		t.Errorf("got %d samples, want 210: 10 of the thread, 200 of its new thread, none of its child",
			c.samples[0])
	}
}

func TestPIDInheritFollowsChildren(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}, Inherit: Yes},
	})
	h.do("call 10")
	h.do("fork 3000")
	c := drain(t, s)
	if c.samples[0] < 3010 || c.samples[0] > 3020 { // exec.Command and the runtime may call it too
		t.Errorf("got %d samples, want 3010", c.samples[0])
	}
}

func TestThreadsMadeWhileAttaching(t *testing.T) {
	needRoot(t)
	for range 5 {
		h := startHelper(t)
		h.do("pool 60")
		s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}}})
		h.do("pooled 50")
		if c := drain(t, s); len(s.Warnings()) == 0 && c.samples[0] != 3000 {
			t.Errorf("got %d samples and %d lost of %d threads, want 50 from each of 60", c.samples[0],
				c.lost, len(c.byTID))
		}
		h.stop()
	}
}

func TestTIDIsExactlyThatThread(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{TIDs: []int{h.tid}}})
	if len(s.Rings()) != 1 {
		t.Errorf("got %d rings, want 1", len(s.Rings()))
	}
	h.do("call 10")
	h.do("thread 200")
	h.do("fork 200")
	c := drain(t, s)
	if c.samples[0] != 10 || c.byTID[int32(h.tid)] != 10 {
		t.Errorf("got %+v, want 10 samples of thread %d", c, h.tid)
	}
}

func TestTIDOnCPU(t *testing.T) {
	needRoot(t)
	cpus, err := kernel.OnlineCPUs()
	if err != nil || len(cpus) < 2 {
		testkit.Requires(t, testkit.Optional("a second CPU", fmt.Errorf("CPUs %v are online", cpus)))
	}
	h := startHelper(t)
	for _, c := range []struct{ cpu, want int }{{0, 10}, {cpus[1], 0}} {
		s := openSource(t, Config{
			Events: []EventConfig{getppid(t, 0)}, Target: Target{TIDs: []int{h.tid}, CPUs: []int{c.cpu}},
		})
		h.do("call 10")
		if got := drain(t, s); got.samples[0] != c.want {
			t.Errorf("CPU %d: got %d samples of a thread on CPU 0, want %d", c.cpu, got.samples[0], c.want)
		}
	}
}

func TestSourceEndsWithItsTarget(t *testing.T) {
	needRoot(t)
	for _, target := range []string{"pid", "tid", "pid+inherit"} {
		h := startHelper(t)
		cfg := Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}}}
		switch target {
		case "tid":
			cfg.Target = Target{TIDs: []int{h.tid}}
		case "pid+inherit":
			cfg.Target.Inherit = Yes
		}
		s := openSource(t, cfg)
		h.do("call 10")
		h.stop()
		if c := readAll(t, s); c.samples[0] != 10 { // readAll fails if there is no io.EOF
			t.Errorf("%s: got %d samples, want 10", target, c.samples[0])
		}
		if err := s.Poll(t.Context(), time.Minute); err != io.EOF {
			t.Errorf("%s: Poll after the end: got %v, want %v", target, err, io.EOF)
		}
	}
}

func TestDeadThreadsAreSkippedWithAWarning(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	for _, target := range []Target{{TIDs: []int{h.tid, 4194303}}, {PIDs: []int{4194303, h.pid}}} {
		var warned []error
		s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: target,
			Warn: func(err error) { warned = append(warned, err) }})
		if len(warned) != 1 || !strings.Contains(warned[0].Error(), "4194303") {
			t.Errorf("warnings: got %v, want one about 4194303", warned)
		}
		h.do("call 5")
		if c := drain(t, s); c.samples[0] != 5 {
			t.Errorf("got %d samples, want 5", c.samples[0])
		}
	}
}

func command(out *os.File, args ...string) *workload.Command {
	return &workload.Command{Args: args, Stdout: out}
}

// helperWorkload is the helper as a command.
func helperWorkload(t *testing.T, args ...string) *workload.Command {
	exe, err := os.Executable()
	link := filepath.Join(t.TempDir(), helperMark)
	if err == nil {
		err = os.Symlink(exe, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &workload.Command{Args: append([]string{link}, args...)}
}

func TestWorkload(t *testing.T) {
	needRoot(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)},
		Target:   Target{Workload: helperWorkload(t, "call", "1234")},
		SideBand: SideBand{Comm: true, Task: true, Mmap: true}})
	c := readAll(t, s)
	if c.samples[0] != 1234 || c.lost != 0 {
		t.Errorf("got %d samples, want 1234", c.samples[0])
	}
	st, ok := s.WorkloadStatus()
	if !ok || st.ExitCode() != 0 {
		t.Errorf("status: got %v, %v; want exit 0", st, ok)
	}
	var execs []string
	mapped, exits := false, 0
	for _, r := range c.side {
		switch r := r.(type) {
		case Comm:
			if r.Exec {
				execs = append(execs, r.Name)
			}
		case Mapping:
			mapped = mapped || strings.HasSuffix(r.Name, ".test") && r.Prot&unix.PROT_EXEC != 0
		case Task:
			exits++
		}
	}
	// The stub is not seen, the command's own execve is. Names have 15 bytes.
	if len(execs) != 1 || execs[0] != helperMark[:15] {
		t.Errorf("exec records: got %q, want %q", execs, helperMark[:15])
	}
	if !mapped || exits == 0 {
		t.Errorf("mapping of the program: %v, task records: %d; want both", mapped, exits)
	}
}

func TestWorkloadFollowsChildrenUnlessTold(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		inherit Tri
		want    int
	}{{Default, 500}, {Yes, 500}, {No, 0}} {
		s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)},
			Target: Target{Workload: helperWorkload(t, "fork", "500"), Inherit: c.inherit}})
		got := readAll(t, s).samples[0]
		if got != c.want {
			t.Errorf("inherit %d: got %d samples, want %d", c.inherit, got, c.want)
		}
	}
}

func TestWorkloadStatus(t *testing.T) {
	needRoot(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, 0)},
		Target: Target{Workload: command(nil, "sh", "-c", "exit 7")},
	})
	readAll(t, s)
	if st, ok := s.WorkloadStatus(); !ok || st.ExitCode() != 7 {
		t.Errorf("got %v, %v; want exit 7", st, ok)
	}
}

func TestWorkloadEndsSystemWideSource(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	// The command ends when it is told to.
	fifo := filepath.Join(t.TempDir(), "end")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)},
		Target: Target{CPUs: []int{0}, System: true, Workload: command(nil, "cat", fifo)}})
	h.do("call 77")
	end, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
	if c := readAll(t, s); c.samples[0] != 77 {
		t.Errorf("got %d samples, want 77 of another process", c.samples[0])
	}
}

func TestCloseEndsTheWorkload(t *testing.T) {
	needRoot(t)
	s, err := Open(context.Background(), Config{
		Events: []EventConfig{getppid(t, 0)}, Target: Target{Workload: command(nil, "sleep", "1000")},
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := s.tasks.workload.PID()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("the workload after Close: got %v, want %v", err, unix.ESRCH)
	}
}

func TestWorkloadOutputAndScriptWithoutInterpreter(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("echo run $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, 0)}, Target: Target{Workload: command(w, file, "arg")},
	})
	w.Close()
	readAll(t, s)
	out, _ := io.ReadAll(r)
	if string(out) != "run arg\n" {
		t.Errorf("got %q, want %q", out, "run arg\n")
	}
}

func TestCgroup(t *testing.T) {
	needRoot(t)
	m, err := kernel.ReadMounts(kernel.Roots{})
	root := m.PerfCgroup()
	if err != nil || root == "" {
		testkit.Requires(t, testkit.Optional("a perf_event or cgroup2 hierarchy",
			errors.New("none is mounted")))
	}
	name := fmt.Sprintf("ppscript-test-%d-x", os.Getpid())
	dir := filepath.Join(root, name)
	testkit.Requires(t, testkit.Optional("cgroups that can be made", os.Mkdir(dir, 0o755)))
	t.Cleanup(func() { os.Remove(dir) })
	h, other := startHelper(t), startHelper(t)
	defer other.stop()
	defer h.stop() // before the cgroup is removed
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Appendf(nil, "%d", h.pid), 0); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{name, fmt.Sprintf("^ppscript-test-%d-[a-z]*$", os.Getpid())} {
		s, err := Open(context.Background(), Config{
			Events: []EventConfig{getppid(t, 0)}, Target: Target{Cgroups: []string{pattern}},
		})
		testkit.Requires(t, testkit.Optional("perf_event in the cgroup hierarchy", err))
		h.do("call 40")
		other.do("call 1000")
		if c := drain(t, s); c.samples[0] != 40 {
			t.Errorf("%s: got %d samples, want 40", pattern, c.samples[0])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSideBand(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)},
		Target:   Target{PIDs: []int{h.pid}, Inherit: Yes},
		SideBand: SideBand{Comm: true, Task: true}})
	h.do("comm renamed")
	h.do("fork 1")
	c := drain(t, s)
	var rename, exec, fork, exit bool
	child := int32(0)
	for _, r := range c.side {
		switch r := r.(type) {
		case Task:
			if r.PPID == int32(h.pid) && r.PID != r.PPID {
				exit = exit || child == r.PID
				fork, child = true, r.PID
			}
		case Comm:
			rename = rename || r.Name == "renamed" && !r.Exec && r.TID == int32(h.tid)
			exec = exec || r.Exec && r.PID == child
		}
	}
	if !rename || !exec || !fork || !exit {
		t.Errorf("rename %v exec %v fork %v exit %v, want all", rename, exec, fork, exit)
	}
}

func TestNothingStaysOpen(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	bad := getppid(t, h.tid)
	bad.Filter = "nonsense =="
	open := func() map[string]bool {
		files := map[string]bool{}
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if l, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil &&
				(strings.Contains(l, "perf") ||
					strings.Contains(l, "pidfd") || strings.Contains(l, "event") ||
					strings.HasPrefix(l, "pipe") || strings.Contains(l, "cgroup")) {
				files[e.Name()+" "+l] = true
			}
		}
		return files
	}
	// os.Process may keep its own pidfd until it is garbage collected, so fewer
	// descriptors at the end are no fault.
	before := open()
	for _, cfg := range []Config{
		{Events: []EventConfig{getppid(t, h.tid), bad}},
		{Events: []EventConfig{getppid(t, h.tid), bad}, Target: Target{PIDs: []int{h.pid}}},
		{Events: []EventConfig{bad}, Target: Target{Workload: command(nil, "sleep", "1000")}},
		{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{Workload: command(nil, "true")}},
		{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{PIDs: []int{h.pid}}},
	} {
		s, err := Open(context.Background(), cfg)
		if err == nil {
			err = s.Close()
		} else if !strings.Contains(err.Error(), "filter") {
			t.Error(err)
		} else {
			err = nil
		}
		if err != nil {
			t.Error(err)
		}
	}
	for file := range open() {
		if !before[file] {
			t.Errorf("left open: %s", file)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || bytes.Contains(maps, []byte("perf_event")) {
		t.Errorf("rings are still mapped (%v)", err)
	}
}

func TestPerfStatAgrees(t *testing.T) {
	needRoot(t)
	testkit.Requires(t, testkit.Perf)
	h := startHelper(t)
	// perf counts from "enable" on, and answers when it does.
	dir := t.TempDir()
	open := func(name string) *os.File {
		path := filepath.Join(dir, name)
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // which does not wait for the other end
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	control, ack := open("control"), open("ack")
	cmd := exec.CommandContext(t.Context(), "perf", "stat", "-x,", "-D", "-1", "--control",
		"fifo:"+control.Name()+","+ack.Name(), "-e", "raw_syscalls:sys_enter",
		"--filter", fmt.Sprintf("id == %d", unix.SYS_GETPPID), "-p", fmt.Sprint(h.pid))
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := control.WriteString("enable\n"); err != nil {
		t.Fatal(err)
	}
	if err := ack.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := ack.Read(make([]byte, 16)); err != nil {
		t.Fatalf("perf stat does not begin: %v %s", err, out.String())
	}
	s := openSource(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}}})
	h.do("call 4321")
	c := drain(t, s)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it says that it was interrupted
	if !strings.Contains(out.String(), "4321,") || c.samples[0] != 4321 {
		t.Errorf("got %d, perf stat %s; want 4321", c.samples[0], out.String())
	}
}
