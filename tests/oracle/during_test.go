package oracle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// schedstat returns how long the threads of a process ran, and how long they waited for a
// CPU, in ns, from the kernel's account.
func schedstat(t *testing.T, pid int) (ran, waited int64) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schedstat of %d: %v", pid, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		words := strings.Fields(string(text))
		if err != nil || len(words) < 2 {
			t.Fatalf("%s: got %q, %v", f, text, err)
		}
		r, _ := strconv.ParseInt(words[0], 10, 64)
		w, _ := strconv.ParseInt(words[1], 10, 64)
		ran, waited = ran+r, waited+w
	}
	return ran, waited
}

// allOfAProcess splits the whole time of a process, in system calls and between them.
const allOfAProcess = `"""Where the time of a process goes."""
def main():
    enter = tracepoint("raw_syscalls:sys_enter").where("_pid == %[1]d")
    exit = tracepoint("raw_syscalls:sys_exit").where("_pid == %[1]d")
    switch = tracepoint("sched:sched_switch")
    wakeup = tracepoint("sched:sched_wakeup").key("pid")
    sleeping = spans(switch.where("prev_state != 0").key("prev_pid"), wakeup, name = "sleeping")
    ready = [wakeup, switch.where("prev_state == 0").key("prev_pid")]
    waiting = spans(ready, switch.key("next_pid"), name = "waiting")
    all = join([enter], [exit], key = "_tid", cycle = True)
    return all.during(merge(sleeping, waiting), by = "part")
`

// The times in which system calls and the code between them run and wait for a CPU equal
// the kernel's account of the threads.
func TestPartsEqualSchedstat(t *testing.T) {
	live(t)
	testkit.Again(t, func() []string {
		target := testkit.StartTarget(t, "-getppid", "20000", "-switch", "300", "-sleep", "100")
		target.OnOneCPU()
		file := filepath.Join(t.TempDir(), "whole.star")
		if err := os.WriteFile(file, fmt.Appendf(nil, allOfAProcess, target.PID()), 0o600); err != nil {
			t.Fatal(err)
		}
		p := testkit.Start(t, testkit.PPScript(t), file, "-a", "-v", "-i", "60s", "-m", "2048",
			"--format", "json")
		p.WaitStderr(" open event")
		ran, waited := schedstat(t, target.PID())
		target.Do()
		ran2, waited2 := schedstat(t, target.PID())
		table := last(t, p.Stop().Want(t, 0).Stdout)
		target.End()
		got := column(t, table, "part", "total")
		var wrong []string
		near := func(what string, got, want int64) {
			if d := math.Abs(float64(got - want)); d > 0.05*float64(want)+2e6 {
				wrong = append(wrong, fmt.Sprintf("%s: got %d ns, the kernel says %d", what, got, want))
			}
		}
		near("waiting", got["waiting"], waited2-waited)
		near("rest, which is on a CPU", got["rest"], ran2-ran)
		if got["sleeping"] < 100*200_000 {
			wrong = append(wrong,
				fmt.Sprintf("sleeping: got %d ns, want 100 sleeps of 200 us", got["sleeping"]))
		}
		if got["unknown"] > got["rest"]/10 {
			wrong = append(wrong, fmt.Sprintf("unknown: got %d ns", got["unknown"]))
		}
		return wrong
	})
}
