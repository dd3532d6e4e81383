package oracle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A waller is a thread of wall.c with the times that it measured, in ns.
type waller struct{ wall, ran, queued, idle int64 }

// wallers parses the output of the threads.
func wallers(t *testing.T, stdout string) map[string]waller {
	t.Helper()
	all := map[string]waller{}
	for line := range strings.Lines(stdout) {
		var name string
		var w waller
		if n, _ := fmt.Sscan(line, &name, &w.wall, &w.ran, &w.queued, &w.idle); n == 5 {
			all[name] = w
		}
	}
	if len(all) != 8 {
		t.Fatalf("got %d threads, want 8:\n%s", len(all), stdout)
	}
	return all
}

// A wallStack is a stack of profile --wall or --latency.
type wallStack struct {
	Key   map[string]string
	Count int64
	Value int64
	Stack []testkit.Frame
}

// names returns the functions of a stack, innermost first.
func (s *wallStack) names() string {
	all := ";"
	for _, f := range s.Stack {
		all += f.Symbol + ";"
	}
	return all
}

// A wallTime is the result of profile.
type wallTime struct {
	Begin, End int64
	Loss       map[string]any
	Title      string
	Stacks     []wallStack
}

// sum adds up the stacks of a thread with this activity and this function; "" means
// all.
func (w *wallTime) sum(comm, doing, function string) (ns int64) {
	for i := range w.Stacks {
		s := &w.Stacks[i]
		if (comm == "" || s.Key["comm"] == comm) && (doing == "" || s.Key["doing"] == doing) &&
			(function == "" || strings.Contains(s.names(), ";"+function+";")) {
			ns += s.Value
		}
	}
	return ns
}

// early is a prefix for a command that must not wait for a CPU, because it reads the
// switches of all threads, also those of other tests.
var early = []string{"nice", "-n", "-20"}

// profileWall runs profile, and returns its result and the command's output.
func profileWall(t *testing.T, args ...string) (w *wallTime, out testkit.Output) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wall.json")
	words := append(slices.Clip(early), testkit.PPScript(t), "profile", "-m", "8192", "--event", "cpu-clock",
		"--top", "100000", "--format", "json", "-o", file)
	out = testkit.Run(t, append(words, args...)...).Want(t, 0)
	return readWall(t, file), out
}

func readWall(t *testing.T, file string) *wallTime {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := testkit.All[wallTime](t, string(text), "stacks")
	if len(all) != 1 {
		t.Fatalf("got %d results, want 1:\n%s", len(all), text)
	}
	return &all[0]
}

// The times in which threads ran, waited for a CPU and waited for something else equal the
// kernel's schedstat, within 3 % of their time; shares of functions equal their CPU times.
func checkWall(w *wallTime, all map[string]waller) (wrong []string) {
	near := func(what string, got, want, whole int64) {
		if math.Abs(float64(got-want)) > 0.03*float64(whole) {
			wrong = append(wrong, fmt.Sprintf("%s: got %d us, want %d of %d", what, got/1000, want/1000,
				whole/1000))
		}
	}
	for name, a := range all {
		near(name+" on-CPU", w.sum(name, "on-CPU", ""), a.ran, a.wall)
		near(name+" runnable", w.sum(name, "runnable", ""), a.queued, a.wall)
		near(name+" waiting", w.sum(name, "waiting", ""), a.wall-a.ran-a.queued, a.wall)
		near(name+" in all", w.sum(name, "", ""), a.wall, a.wall)
	}
	near("hot", w.sum("w-burner", "on-CPU", "hot"), 300e6, 450e6)
	near("warm", w.sum("w-burner", "on-CPU", "warm"), 150e6, 450e6)
	for name, function := range map[string]string{
		"w-sleeper": "sleeper", "w-locker": "futex_wait", "w-reader": "reader",
	} {
		known := w.sum(name, "waiting", function) + w.sum(name, "runnable", function)
		near(name+" in "+function, known, all[name].idle, all[name].wall)
	}

	// On top of a stack are the waker and its code.
	for _, c := range []struct{ sleeper, waker, function string }{
		{"w-locker", "w-holder", "holder"}, {"w-reader", "w-writer", "writer"}, {"w-queued", "w-hog", "hog"},
	} {
		got := int64(0)
		for i := range w.Stacks {
			s := &w.Stacks[i]
			above, below, two := strings.Cut(s.names(), ";--;")
			if two && s.Key["comm"] == c.sleeper && strings.HasPrefix(above, ";"+c.waker+";") &&
				strings.Contains(above, ";"+c.function+";") && strings.Contains(below, ";work;") {
				got += s.Value
			}
		}
		if got < 90e6 {
			wrong = append(wrong, fmt.Sprintf("%s waits %d ns for %s, want more", c.sleeper, got, c.waker))
		}
	}
	if len(w.Loss) > 0 {
		wrong = append(wrong, fmt.Sprint("loss ", w.Loss))
	}
	return wrong
}

// The times of threads equal their own and the kernel's measurements, live and from a
// recording of perf.
func TestWallTimeEqualsSchedstat(t *testing.T) {
	live(t, testkit.GCC, testkit.Perf)
	program := compiled(t, "wall.c", "-O1", "-fno-omit-frame-pointer", "-pthread")
	testkit.Again(t, func() []string {
		w, out := profileWall(t, "--wall", "-F", "499", "--", program)
		return checkWall(w, wallers(t, out.Stdout))
	})
	testkit.Again(t, func() []string {
		data := filepath.Join(t.TempDir(), "perf.data")
		out := testkit.Run(t, append(slices.Clip(early), "perf", "record", "-q", "-a", "-g", "-B", "-N",
			"-m", "2048", "-o", data,
			"-e", "sched:sched_switch", "--filter", `prev_comm ~ "w*" || next_comm ~ "w*"`,
			"-e", "sched:sched_wakeup", "--filter", `comm ~ "w*"`,
			"-e", "sched:sched_wakeup_new", "--filter", `comm ~ "w*"`,
			"-e", "cpu-clock/freq=499/", "--", program)...).Want(t, 0)
		w, _ := profileWall(t, "--wall", "--input", data)
		return checkWall(w, wallers(t, out.Stdout))
	})
}

// The time of all threads of a process is their number times the length of the run, to the ns,
// including threads that sleep all the time.
func TestWallTimeIsThatOfAllThreads(t *testing.T) {
	live(t)
	l := testkit.StartTarget(t, "-switch", "100000")
	testkit.Again(t, func() (wrong []string) {
		before := len(threadsOf(t, l.PID()))
		w, out := profileWall(t, "--wall", "--duration", "0.5", "-p", fmt.Sprint(l.PID()))
		after := len(threadsOf(t, l.PID()))
		if got, want := w.sum("", "", ""), int64(before)*(w.End-w.Begin); got != want || before != after {
			wrong = append(wrong, fmt.Sprintf("got %d ns of %d threads, later %d, in %d ns, want %d: %s", got,
				before, after, w.End-w.Begin, want, out.Stderr))
		}
		return wrong
	})
}

// --off-cpu-thresh leaves out exactly the short times off the CPU, and says so.
func TestWallTimeWithoutShortWaits(t *testing.T) {
	live(t, testkit.GCC)
	program := compiled(t, "wall.c", "-O1", "-fno-omit-frame-pointer", "-pthread")
	testkit.Again(t, func() (wrong []string) {
		w, out := profileWall(t, "--wall", "--off-cpu-thresh", "90ms", "--", program)
		all := wallers(t, out.Stdout)
		if !strings.Contains(w.Title, "shorter than 90ms") {
			t.Errorf("got title %q, want the threshold", w.Title)
		}
		for _, s := range w.Stacks {
			if s.Key["doing"] != "on-CPU" && s.Value < 90e6*s.Count {
				t.Errorf("got %d ns %s in %d times", s.Value, s.Key["doing"], s.Count)
			}
		}
		// It sleeps for 50 ms, which is left out, and then waits for the mutex.
		got, want := w.sum("w-locker", "waiting", ""), all["w-locker"].idle
		if got > want || got < want*8/10 {
			wrong = append(wrong, fmt.Sprintf("w-locker: got %d ns, want %d", got, want))
		}
		return wrong
	})
}

// A program runs alone for 300 ms, then with two threads at the same time for 300 ms each:
// CPU times are 1 to 2, elapsed times 1 to 1.
func TestLatencyWeightsByParallelism(t *testing.T) {
	live(t, testkit.GCC, testkit.CPU1)
	program := compiled(t, "wall.c", "-O1", "-fno-omit-frame-pointer", "-pthread")
	testkit.Again(t, func() (wrong []string) {
		w, _ := profileWall(t, "--latency", "-F", "997", "--user-callchain", "fp", "--", program, "parallel")
		serial, parallel, samples := w.sum("", "", "serial"), w.sum("", "", "parallel"), int64(0)
		for i := range w.Stacks {
			if strings.Contains(w.Stacks[i].names(), ";parallel;") {
				samples += w.Stacks[i].Count
			}
		}
		share := float64(serial) / float64(w.sum("", "", ""))
		if math.Abs(share-0.5) > 0.03 || math.Abs(float64(serial)-300e6) > 15e6 ||
			math.Abs(float64(samples)-600*0.997) > 30 {
			wrong = append(wrong, fmt.Sprintf("got %d ns alone, %d ns at once in %d samples: a share of %.3f",
				serial, parallel, samples, share))
		}
		return wrong
	})
}
