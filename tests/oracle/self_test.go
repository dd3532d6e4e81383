package oracle

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A thread that gets its CPU from ppscript itself has a line for that run too:
// there are as many lines as another ppscript counts, which prints no lines.
func TestRunsBehindOurselvesAreShown(t *testing.T) {
	live(t)
	target := testkit.StartTarget(t, "-sleep", "500")
	target.OnOneCPU()
	counts := attach(t, target, "sched-timehist", "--summary", "-m", "1024", "--format", "json")
	ours := attach(t, target, "sched-timehist", "-m", "1024", "-i", "2ms", "--format", "json")
	testkit.Run(t, "taskset", "-acp", "0", strconv.Itoa(ours.PID())).Want(t, 0)
	target.Do()
	lines := testkit.Events(t, ours.Stop().Want(t, 0).Stdout)
	table := last(t, counts.Stop().Want(t, 0).Stdout)
	target.End()
	noLoss(t, table)
	got, want := map[int64]int64{}, map[int64]int64{}
	for _, e := range lines {
		got[decimal(t, between(e.Text, " tid=", " "))]++
	}
	sum := int64(0)
	for _, r := range table.Rows {
		want[r.Int(t, "tid")] = r.Int(t, "sched-in")
		sum += r.Int(t, "sched-in")
	}
	if !maps.Equal(got, want) || sum < 500 {
		t.Errorf("got runs of threads %v, want %v, at least those of 500 sleeps", got, want)
	}
}

// Events of ppscript's own threads have no line, unless requested.
func TestOurselvesAreNotShown(t *testing.T) {
	live(t)
	for _, self := range []bool{false, true} {
		args := []string{
			testkit.PPScript(t), "task-state", "--than", "1us", "-v", "-i", "5ms", "--format", "json",
		}
		if self {
			args = append(args, "--include-self")
		}
		ours := testkit.Start(t, args...)
		ours.WaitStderr(" open event")
		ours.Await("lines", func(out string) bool { return strings.Count(out, `"type":"event"`) > 200 })
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", ours.PID()))
		out := ours.Stop()
		own := 0
		for _, e := range testkit.Events(t, out.Stdout) {
			if slices.Contains(threads, fmt.Sprintf("/proc/%d/task/%v", ours.PID(), e.Fields["task"])) {
				own++
			}
		}
		hidden := strings.Contains(out.Stderr, " events about ppscript itself are not shown")
		if len(threads) < 2 || own > 0 != self || hidden == self {
			t.Errorf("--include-self %t: got %d lines of ppscript's threads %v, said so: %t", self,
				own, threads, hidden)
		}
	}
}

// Stacks of ppscript itself are not shown either, in both engines, unless
// requested.
func TestOurselvesAreInNoStacks(t *testing.T) {
	live(t, testkit.Samples)
	for _, how := range []string{"fp", "dwarf"} { // counted by programs, and natively
		for _, self := range []bool{false, true} {
			args := []string{
				testkit.PPScript(t), "profile", "-F", "1999", "--user-callchain=" + how, "--top",
				"100000", "--duration", "1s", "-v", "--format", "json",
			}
			if self {
				args = append(args, "--include-self")
			}
			p := testkit.Start(t, args...)
			out := p.Wait().Want(t, 0)
			own := 0
			for _, r := range testkit.All[struct{ Stacks []struct{ PID int } }](t, out.Stdout, "stacks") {
				for _, s := range r.Stacks {
					if s.PID == p.PID() {
						own++
					}
				}
			}
			said := strings.Contains(out.Stderr, " events about ppscript itself are not shown")
			if own > 0 != self || said == self {
				t.Errorf("%s, --include-self %t: got %d stacks of ppscript, said so: %t",
					how, self, own, said)
			}
		}
	}
}
