package engines

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A scene is a program that causes events, with the words that command lines
// need to observe it.
type scene struct {
	load  []string
	words map[string]string
	// spread means that the program needs two CPUs; otherwise it stays on one.
	spread bool
}

// scenes make the scenes of this machine. They skip the test if the machine
// lacks the events.
var scenes = map[string]func(t *testing.T) scene{
	"own": func(t *testing.T) scene {
		return scene{load: []string{"-getppid", "300", "-fail", "20", "-sleep", "20", "-switch", "50",
			"-fault", "100", "-copy", "30",
			"-futex", "30", "-signal", "10", "-exec", "3", "-write", "4", "-file",
			filepath.Join(t.TempDir(), "file")}}
	},
	"rare": func(*testing.T) scene { return scene{load: []string{"-rare", "7"}} },
	"spin": func(*testing.T) scene { return scene{load: []string{"-spin", "300", "-fail", "60000"}} },
	"move": func(t *testing.T) scene {
		testkit.Requires(t, testkit.CPU1)
		return scene{load: []string{"-move", "20"}, spread: true}
	},
	"lock": func(t *testing.T) scene {
		testkit.Requires(t, testkit.CPU1)
		return scene{load: []string{"-contend", "100000"}, spread: true}
	},
	"disk": func(t *testing.T) scene {
		disk, name := testkit.LoopDevice(t, "none")
		var st unix.Stat_t
		if err := unix.Stat(disk, &st); err != nil {
			t.Fatal(err)
		}
		// This is the form of the number in the kernel's tracepoints.
		dev := uint64(unix.Major(st.Rdev))<<20 | uint64(unix.Minor(st.Rdev))
		return scene{
			load:  []string{"-read", "60", "-disk", disk},
			words: map[string]string{"disk": name, "dev": fmt.Sprint(dev)},
		}
	},
	"ext4": func(t *testing.T) scene {
		dir := t.TempDir()
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == nil && st.Type != unix.EXT4_SUPER_MAGIC {
			err = fmt.Errorf("%s has another one", dir)
		}
		testkit.Requires(t, testkit.Optional("an ext4 file system", err))
		return scene{load: []string{"-write", "4", "-file", filepath.Join(dir, "file")}}
	},
	"net": func(t *testing.T) scene {
		port := freePort(t)
		return scene{load: []string{"-connect", "5", "-port", port}, words: map[string]string{"port": port}}
	},
	"retry": func(t *testing.T) scene {
		port := freePort(t)
		return scene{load: []string{"-retry", "-port", port}, words: map[string]string{"port": port}}
	},
	"reclaim": func(t *testing.T) scene {
		dir, knob, word := memoryCgroup(t)
		return scene{load: []string{
			"-reclaim", "3", "-file", filepath.Join(t.TempDir(), "file"), "-knob",
			filepath.Join(dir, knob), "-word", word,
		},
			words: map[string]string{"cgroup": dir}}
	},
}

// inGuests are the scenes that tests/vm has.
var inGuests = []string{"kvm", "kvmmmu"}

// freePort returns a port at which no program listened a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// memoryCgroup makes a cgroup, and returns its file, and the word to write
// there, which make the kernel reclaim its pages.
func memoryCgroup(t *testing.T) (dir, knob, word string) {
	t.Helper()
	for _, v := range []struct{ root, knob, word string }{
		{"/sys/fs/cgroup", "memory.reclaim", "1M"},
		{"/sys/fs/cgroup/memory", "memory.force_empty", "0"},
	} {
		dir := filepath.Join(v.root, "ppscript-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if _, err := os.Stat(filepath.Join(dir, v.knob)); err == nil {
			return dir, v.knob, v.word
		}
	}
	testkit.Requires(t, testkit.Optional("cgroups of memory",
		fmt.Errorf("none can be made below /sys/fs/cgroup")))
	return "", "", ""
}

// together is how many comparisons share one run of a scene; fewer do for events
// in interrupts.
const together, interrupted = 8, 2

// go test ./tests/engines -run TestEnginesAgree -only syscalls
var only = flag.String("only", "", "compare only command lines that have `TEXT`")

// Both engines run at the same time, and show the same results for the same
// events.
func TestEnginesAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF, testkit.Taskset)...)
	testkit.Awake(t)
	by := map[string][]*Comparison{}
	p := newPlanner(t)
	for i := range Comparisons {
		c := &Comparisons[i]
		if !strings.Contains(c.String(), *only) {
			continue
		}
		// TestEachScriptIsCompared reports scripts that no longer fit.
		if p.fits(t, c.Script, p.read(t, c.Script, c.Args, planWords), c.ByThread) != "" {
			by[c.Scene] = append(by[c.Scene], c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if slices.Contains(inGuests, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, list := range runs(by[name]) {
				agree(t, name, list)
			}
		})
	}
}

// runs divides the comparisons into groups, each of which shares one run of a
// scene.
func runs(list []*Comparison) (runs [][]*Comparison) {
	most := map[bool]int{false: together, true: interrupted}
	open := map[bool]int{} // the run that is not full, and 1
	for _, c := range list {
		at := open[c.Interrupts]
		if at == 0 || c.Alone || len(runs[at-1]) == most[c.Interrupts] {
			runs = append(runs, nil)
			at = len(runs)
		}
		runs[at-1] = append(runs[at-1], c)
		if !c.Alone {
			open[c.Interrupts] = at
		}
	}
	return runs
}

// agree makes comparisons. It repeats those that fail, because interrupts or other work may have
// come between the two readings of the clock.
func agree(t *testing.T, name string, list []*Comparison) {
	t.Helper()
	testkit.Again(t, func() (differ []string) {
		var again []*Comparison
		for i, o := range show(t, name, list) {
			if o.Rows == 0 {
				o.differ("there is nothing to compare")
			}
			if len(o.Wrong) > 0 {
				differ = append(differ, fmt.Sprintf("%s: %d events were lost: %s", list[i], o.Lost,
					strings.Join(o.Wrong, "\n")))
				again = append(again, list[i])
			}
		}
		list = again
		return differ
	})
}

// show runs both engines of each comparison during one run of a scene.
func show(t *testing.T, name string, list []*Comparison) (results []*Outcome) {
	t.Helper()
	s := scenes[name](t)
	words := map[string]string{"name": fmt.Sprintf("w%d", os.Getpid()), "dir": t.TempDir()}
	maps.Copy(words, s.words)
	l := testkit.StartTarget(t, append(s.load, "-comm", words["name"])...)
	words["pid"] = strconv.Itoa(l.PID())
	if !s.spread {
		l.OnOneCPU()
	}
	if dir := words["cgroup"]; dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(l.PID())),
			0); err != nil {
			t.Fatal(err)
		}
	}
	var tracers []*testkit.Process
	for _, c := range list {
		for _, engine := range []string{"bpf", "perf"} {
			words["engine"] = engine
			args := append([]string{testkit.PPScript(t)}, c.Command(words)...)
			args = append(args, "--engine", engine, "--format", "json", "-v")
			if c.ByThread {
				args = append(args, "-p", strconv.Itoa(l.PID()))
			}
			tracers = append(tracers, testkit.Start(t, inRepository(args)...))
		}
	}
	for _, p := range tracers {
		p.WaitStderr(" open event")
	}
	l.Do()
	for _, p := range tracers {
		p.Signal(unix.SIGINT)
	}
	for i, c := range list {
		kernel, native := tracers[2*i].Wait().Want(t, 0), tracers[2*i+1].Wait().Want(t, 0)
		results = append(results, c.Compare(t, words, kernel.Stdout, native.Stdout))
	}
	l.End()
	return results
}

// inRepository returns the path of a script, relative to this directory.
func inRepository(args []string) []string {
	if strings.HasPrefix(args[1], "scripts/") {
		args[1] = filepath.Join(repository, args[1])
	}
	return args
}
