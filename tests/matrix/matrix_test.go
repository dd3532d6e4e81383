package matrix

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

// ways are the ways to observe a live target. pid has the results as JSON,
// others use -p too; for scripts about CPUs, -C 0 takes the place of -p.
var ways = []string{"pid", "text", "csv", "file", "perins", "interval", "tid", "cpu", "cgroup", "command"}

// rounds is how often an attached target does its work.
const rounds = 2

// together is how many profilers are attached to a target at the same time, each
// in all ways.
const together = 3

// A scene is the work of a target.
type scene struct {
	load    []string
	workers int
	oneCPU  bool     // all its work is on one CPU
	few     bool     // few profilers are attached at a time, since all switches go through their rings
	apart   bool     // each way runs alone, because the kernel has few of the resources that it needs
	command []string // a command of its own, with one worker; nil means the program load
	words   map[string]string
}

var scenes = map[string]func(t *testing.T) scene{
	"": callsScene,
	"apart": func(t *testing.T) scene {
		s := callsScene(t)
		s.apart = true
		// A signal by which Go preempts a goroutine comes when the breakpoint's exception returns. Go then
		// goes on at the same instruction, whose breakpoint fires again.
		t.Setenv("GODEBUG", "asyncpreemptoff=1")
		return s
	},
	"busy": func(t *testing.T) scene {
		n := workers(t)
		return scene{workers: n, load: []string{"-cpus", strconv.Itoa(n), "-paths", "16"}}
	},
	"sched": func(t *testing.T) scene {
		one := []string{"-switch", "5", "-sleep", "5"}
		n := workers(t)
		return scene{
			workers: n,
			oneCPU:  true,
			few:     true,
			load:    append([]string{"-cpus", strconv.Itoa(n)}, one...),
			command: one,
		}
	},
	"move": func(t *testing.T) scene {
		testkit.Requires(t, testkit.CPU1)
		return scene{workers: 1, load: []string{"-move", "3"}}
	},
	"disk": func(t *testing.T) scene {
		disk, _ := testkit.LoopDevice(t, "none")
		return scene{
			workers: 1,
			load:    []string{"-read", strconv.Itoa(reads), "-disk", disk},
			words:   map[string]string{"{disk}": disk},
		}
	},
}

func callsScene(t *testing.T) scene {
	n := workers(t)
	return scene{workers: n,
		load: []string{"-cpus", strconv.Itoa(n), "-getppid", strconv.Itoa(calls - 1<<paths), "-paths",
			strconv.Itoa(paths), "-signal", strconv.Itoa(signals), "-fault", strconv.Itoa(faults)}}
}

// workers are one on each of the first two CPUs.
func workers(t *testing.T) int {
	if have, err := testkit.Have(testkit.CPU1); err != nil {
		t.Fatal(err)
	} else if have {
		return 2
	}
	return 1
}

// Every profiler, in every way.
func TestMatrix(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Taskset)...)
	testkit.PPScript(t)
	by := map[string][]string{}
	for _, name := range stdlib.Names() {
		r, ok := matrix[name]
		if !ok {
			t.Errorf("%s: no row says how it is run; add it to matrix", name)
			continue
		}
		if len(r.no) < len(ways) {
			by[r.scene] = append(by[r.scene], name)
		} else {
			t.Run(name, func(t *testing.T) { lacking(t, name, r) })
		}
	}
	if len(matrix) != len(stdlib.Names()) {
		t.Errorf("got %d rows of %d profilers", len(matrix), len(stdlib.Names()))
	}
	for name, names := range by {
		t.Run("scene "+name, func(t *testing.T) {
			for _, n := range names {
				testkit.Requires(t, matrix[n].needs...)
			}
			s := scenes[name](t)
			n := together
			if s.few || s.apart {
				n = 1
			}
			for list := range slices.Chunk(names, n) {
				if !s.apart {
					testkit.Again(t, func() []string { return attached(t, s, list, append(ways, "record")) })
					continue
				}
				for _, way := range ways {
					testkit.Again(t, func() []string { return attached(t, s, list, []string{way}) })
				}
			}
			for _, n := range names {
				testkit.Again(t, func() []string { return command(t, s, n) })
			}
		})
	}
}

// lacking runs a profiler whose events the machine may lack: it works, or its
// error has a hint.
func lacking(t *testing.T, name string, r row) {
	out := testkit.Run(t, slices.Concat(
		[]string{testkit.PPScript(t), name, "--duration", "50ms", "--format", "json"}, r.args)...)
	if bad := notJSON(out.Stdout); bad != "" {
		t.Errorf("got %q, want JSON", bad)
	}
	if out.Exit != 0 && !strings.Contains(out.Stderr, "\nhint: ") {
		t.Errorf("got status %d, %q, want a hint", out.Exit, out.Stderr)
	}
}

// A target is a scene's program, with the ids that are needed to attach to it.
type target struct {
	*testkit.Target
	scene
	comm   string
	cgroup string // "" where there are none
	dir    string
}

func (g *target) worker(i int) string { return fmt.Sprintf("%s-%d", g.comm, i) }

// attached runs profilers attached to one target, each in all of the ways at
// the same time, and reports the faults in their output.
func attached(t *testing.T, s scene, names, ways []string) (wrong []string) {
	t.Helper()
	g := &target{scene: s, comm: fmt.Sprintf("mx%d", os.Getpid()), dir: t.TempDir()}
	group := newCgroup(t)
	g.Target = testkit.StartTarget(t, append(s.load, "-comm", g.comm)...)
	if s.oneCPU {
		g.OnOneCPU()
	}
	g.cgroup = group.take(t, g.PID())
	var jobs []*job
	for _, name := range names {
		for _, way := range ways {
			if j := start(t, g, name, way); j != nil {
				jobs = append(jobs, j)
			}
		}
	}
	for _, j := range jobs {
		j.WaitStderrTimes(" open event", max(1, j.opens))
	}
	g.Do()
	for _, j := range jobs {
		if j.way != "interval" {
			continue
		}
		if !j.least && j.each > 0 {
			j.Await("what the target did", func(stdout string) bool {
				return enough(j.count(t, stdout), j.each)
			})
		} else if j.text != logLine {
			j.Await("a table", func(stdout string) bool { return strings.Contains(stdout, `"type":"table"`) })
		}
	}
	g.Do()
	for _, j := range jobs {
		if j.await && j.way != "record" {
			j.Await("what the target did", func(stdout string) bool { return j.shows(t, stdout) })
		}
	}
	for _, j := range jobs {
		j.Signal(syscall.SIGINT)
	}
	outs := map[*job]string{}
	for _, j := range jobs {
		out := j.Wait().Want(t, 0)
		outs[j] = out.Stdout
		if j.way == "file" {
			text, err := os.ReadFile(j.file)
			if err != nil || out.Stdout != "" {
				j.failf("got %q beside the file, %v", out.Stdout, err)
			}
			outs[j] = string(text)
		}
	}
	g.End()
	for _, name := range names {
		var titles [][]string
		for _, j := range jobs {
			if j.name == name {
				titles = j.check(t, outs[j], titles)
				wrong = append(wrong, j.wrong...)
			}
		}
	}
	return wrong
}

// command runs a profiler with a command of its own.
func command(t *testing.T, s scene, name string) (wrong []string) {
	t.Helper()
	r := matrix[name]
	if r.no["command"] != "" {
		return nil
	}
	comm := fmt.Sprintf("mx%d", os.Getpid())
	load := s.load
	j := &job{name: name, way: "command", row: r, few: s.few}
	for i := range s.workers {
		j.workers = append(j.workers, fmt.Sprintf("%s-%d", comm, i))
	}
	if s.command != nil {
		load, j.workers = s.command, j.workers[:1]
	}
	args := []string{testkit.PPScript(t), name, "--format", "json", "-m", "4096"}
	if r.whole {
		refuses(t, name, r, s)
		j.foreign = true
		args = append(args, "--system")
	}
	args = slices.Concat(args, s.fill(t, r.args), []string{"--", testkit.Load(t)}, load,
		[]string{"-comm", comm})
	out := testkit.Run(t, args...).Want(t, 0)
	if bad := notJSON(out.Stdout); bad != "" {
		j.failf("got %q, want one object a line", bad)
	}
	if !r.await { // the target may have ended
		j.verify(t, out.Stdout, 1)
	}
	return j.wrong
}

// refuses checks that a script about CPUs refuses tasks.
func refuses(t *testing.T, name string, r row, s scene) {
	t.Helper()
	for _, way := range [][]string{{"-p", "1"}, {"-t", "1"}, {"--cgroups", "x"}, nil} {
		args := slices.Concat([]string{testkit.PPScript(t), name}, way, s.fill(t, r.args))
		if way == nil {
			args = append(args, "--", "true")
		}
		out := testkit.Run(t, args...)
		if out.Exit != 2 || !strings.Contains(out.Stderr, "looks at CPUs, not at tasks") ||
			!strings.Contains(out.Stderr, "\nhint: ") {
			t.Errorf("%s %v: got status %d, %q, want that it is about CPUs", name, way, out.Exit, out.Stderr)
		}
	}
}
