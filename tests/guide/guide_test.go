package guide

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// atOnce is how many commands run at the same time: they wait most of the time.
const atOnce = 4

// bound is the time limit for all commands, and twice the limit for one. They
// take a minute on a quiet machine.
const bound = 8 * time.Minute

func TestCommandsOfTheGuide(t *testing.T) {
	testkit.Requires(t, append([]testkit.Need{testkit.AMD64}, testkit.Live...)...)
	list, err := readCommands("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	env := newEnvironment(t)
	outputs := make([]testkit.Output, len(list))
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, c := range list {
		if c.guest || c.needs != "" {
			continue
		}
		slots <- struct{}{}
		p := env.start(t, c)
		wg.Go(func() {
			outputs[i] = p.Wait()
			<-slots
		})
	}
	wg.Wait()
	for i, c := range list {
		if c.guest || c.needs != "" {
			continue
		}
		t.Run(strconv.Itoa(c.line), func(t *testing.T) {
			out := outputs[i]
			testkit.Again(t, func() []string {
				wrong := c.wrong(out, env)
				if !c.mayLack(out) || len(wrong) == 0 {
					return nil
				}
				out = env.start(t, c).Wait()
				return wrong
			})
			c.verify(t, out, env)
		})
	}
}

// verify runs the checks of a command on its result.
func (c *command) verify(t *testing.T, out testkit.Output, env *environment) {
	wrong := c.wrong(out, env)
	switch {
	case c.notYet == "" && len(wrong) > 0:
		t.Errorf("commands.txt:%d: ppscript %s\n%s\nstdout: %s\nstderr: %s", c.line, env.expand(c.bounded()),
			strings.Join(wrong, "\n"), cut(out.Stdout), cut(out.Stderr))
	case c.notYet != "" && len(wrong) == 0:
		t.Errorf("commands.txt:%d: ppscript %s\nworks: take it off the list of those that do not", c.line,
			c.args)
	}
}

// mayLack reports that the missing output may be due to lost events, because so
// many commands at the same time kept the CPUs from reading the rings in time;
// or that it would come after the number of samples at which -N ends the
// command.
func (c *command) mayLack(out testkit.Output) bool {
	return c.notYet == "" && (strings.Contains(c.args, " -N ") ||
		strings.Contains(out.Stdout+out.Stderr, "lost "))
}

// wrong returns the failed checks of a command.
func (c *command) wrong(out testkit.Output, env *environment) (wrong []string) {
	if out.Exit != c.exit {
		wrong = append(wrong, fmt.Sprintf("exit status: got %d, want %d", out.Exit, c.exit))
	}
	for _, k := range c.checks {
		k.words = strings.Fields(env.expand(strings.Join(k.words, " ")))
		if why := k.failure(out.Stdout, env.out); why != "" {
			wrong = append(wrong, k.String()+": "+why)
		}
	}
	return wrong
}

func cut(s string) string { return s[:min(len(s), 1500)] }

// An environment has the files, processes and devices that stand in for those
// of the guide's machine.
type environment struct {
	bin, out string
	values   *strings.Replacer
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	e := &environment{bin: testkit.PPScript(t), out: t.TempDir()}
	// A test that was killed may have left its probe.
	testkit.Run(t, e.bin, "usdt", "del", "libstdcxx:throw@"+library("libstdc++.so.6"))
	group := "ppscript-guide-" + strconv.Itoa(os.Getpid())
	join := cgroups(t, group, group+"1")
	target := testkit.StartTargetFor(t, bound, "-sleep", "20", "-switch", "20", "-fault", "20", "-fail",
		"5", "-getppid", "20")
	tids := threads(t, target.PID())
	join(target.PID())
	t.Cleanup(target.Work())
	useMachine(t)
	cpus := "0"
	if out := testkit.Run(t, "nproc"); strings.TrimSpace(out.Stdout) != "1" {
		cpus = "0-1"
	}
	e.values = strings.NewReplacer(
		"$CGROUP1", group+"1", "$CGROUP", group, "$CGRO", group[:len(group)-1],
		"$PID", strconv.Itoa(target.PID()), "$TIDS", tids, "$CPUS", cpus,
		"$OUT", e.out, "$DISK", disk(), "$LIBSTDCXX", library("libstdc++.so.6"),
		"$PORT", freePort(t))
	return e
}

// useMachine causes activity until the test ends, because a machine without other work
// may do nothing for a second. It writes to the disk, which also causes interrupts, and
// creates pipes that live longer than a command runs, so that the command reports them
// as leaked.
func useMachine(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "written"))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		defer f.Close()
		var pipes []*os.File // the newest last
		defer func() { closeAll(pipes) }()
		for tick := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick:
				// If the disk is full, there are fewer events.
				f.WriteAt([]byte("written\n"), 0)
				f.Sync()
				if r, w, err := os.Pipe(); err == nil {
					pipes = append(pipes, r, w)
				}
				if extra := len(pipes) - 200; extra > 0 {
					closeAll(pipes[:extra])
					pipes = pipes[extra:]
				}
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// start runs a command, with the time limit of all commands.
func (e *environment) start(t *testing.T, c *command) *testkit.Process {
	t.Helper()
	return testkit.StartFor(t, bound/2, "sh", "-c",
		e.bin+" "+strings.ReplaceAll(e.expand(c.bounded()), " ppscript ", " "+e.bin+" "))
}

func (e *environment) expand(s string) string { return e.values.Replace(s) }

// freePort returns a port at which no program listens.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// cgroups makes cgroups; processes join the first one. They are removed when the
// test's processes have ended.
func cgroups(t *testing.T, names ...string) (join func(pid int)) {
	t.Helper()
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil || mounts.PerfCgroup() == "" {
		t.Fatalf("no hierarchy of cgroups that perf can use is mounted: %v", err)
	}
	for _, name := range names {
		dir := filepath.Join(mounts.PerfCgroup(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeCgroup(t, dir) })
	}
	return func(pid int) {
		procs := filepath.Join(mounts.PerfCgroup(), names[0], "cgroup.procs")
		if err := os.WriteFile(procs, []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// removeCgroup waits until the last process has ended.
func removeCgroup(t *testing.T, dir string) {
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().
		Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Error(err)
}

// threads lists the threads of a process.
func threads(t *testing.T, pid int) string {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	var tids []string
	for _, e := range entries {
		tids = append(tids, e.Name())
	}
	return strings.Join(tids, ",")
}

// disk returns a block device whose requests have events.
func disk() string {
	for _, pattern := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1"} {
		if _, err := os.Stat(pattern); err == nil {
			return pattern
		}
	}
	return "/dev/loop0"
}

func library(name string) string {
	found, _ := filepath.Glob("/usr/lib/*/" + name)
	if len(found) == 0 {
		return name
	}
	return found[0]
}
