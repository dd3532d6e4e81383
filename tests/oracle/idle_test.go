package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// idleFor is how long a run without events is observed.
const idleFor = 5 * time.Second

// A run that observes a sleeping process sleeps too: it is woken at most twice a
// second, and takes at most 0.02 % of a CPU. The first event wakes it.
func TestNothingHappens(t *testing.T) {
	live(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	stacks := filepath.Join(t.TempDir(), "stacks.star")
	err := os.WriteFile(stacks, []byte(`
def main(o):
    return tracepoint("raw_syscalls:sys_enter").stack().stacks().top(10)
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	// All runs are idle at the same time, which saves a minute.
	type idler struct {
		name, args string
		target     *testkit.Target
		p          *testkit.Process
		rested     bool
	}
	idlers := []*idler{
		{name: "perf rings", args: "trace --engine perf -e raw_syscalls:sys_enter"},
		{name: "projected records", args: "trace -e raw_syscalls:sys_enter"},
		{name: "kernel tier", args: "top -e raw_syscalls:sys_enter -i 1000s"},
		{name: "pairs", args: "syscalls --than 10ms --engine perf"},
		{name: "details", args: "syscalls --than 10ms --detail=samecpu"},
		{name: "clock", args: "profile -F 99 --engine perf"},
		{name: "counters", args: "stat -e context-switches -i 1000s"},
		{name: "recording", args: "record -e raw_syscalls:sys_enter -o " + data},
		{name: "stacks in programs", args: stacks + " --engine bpf"},
		{name: "nobody receives", args: "trace -e raw_syscalls:sys_enter//push=0/"},
		{name: "sent to one", args: "trace --engine perf -e raw_syscalls:sys_enter//push=0/"},
	}
	for _, c := range idlers {
		c.target = testkit.StartTarget(t)
		args := append([]string{testkit.PPScript(t)}, strings.Fields(c.args)...)
		c.p = testkit.Start(t, append(args, "-p", strconv.Itoa(c.target.PID()))...)
	}
	sender := idlers[len(idlers)-1]
	sender.p.WaitStderr("listening at ")
	at := between(sender.p.Stderr(), "listening at ", "\n")
	received := &idler{
		name: "received", target: sender.target, args: "trace -e raw_syscalls:sys_enter//pull=" + at + "/",
	}
	received.p = testkit.Start(t, append([]string{testkit.PPScript(t)}, strings.Fields(received.args)...)...)
	idlers = append(idlers, received)
	pids := make([]int, len(idlers))
	for i, c := range idlers {
		pids[i] = c.p.PID()
	}
	asleep(t, pids...)
	testkit.Again(t, func() (wrong []string) {
		wakes, cpu := make([]int64, len(idlers)), make([]time.Duration, len(idlers))
		for i, c := range idlers {
			wakes[i], cpu[i] = usedBy(t, c.p.PID())
		}
		time.Sleep(idleFor)
		for i, c := range idlers {
			if c.rested {
				continue // Go's runtime returns memory at times of its own
			}
			moreWakes, moreCPU := usedBy(t, c.p.PID())
			before := len(wrong)
			if n := moreWakes - wakes[i]; n > int64(2*idleFor/time.Second) {
				wrong = append(wrong, fmt.Sprintf("%s: %d wake-ups in %v, want at most 2 a second", c.name, n,
					idleFor))
			}
			if d := moreCPU - cpu[i]; d > idleFor/5000 {
				wrong = append(wrong, fmt.Sprintf("%s: %v of CPU time in %v, want at most 0.02 %%", c.name, d,
					idleFor))
			}
			c.rested = len(wrong) == before
		}
		return wrong
	})
	for _, c := range slices.Backward(idlers) {
		if strings.HasPrefix(c.args, "trace") && !strings.Contains(c.args, "push=") {
			start := time.Now()
			c.target.Do()
			c.p.WaitStdout("NR ")
			if d := time.Since(start); d > idleFor {
				t.Errorf("%s: the first event was shown after %v, want it at once", c.name, d)
			}
		}
		c.p.Stop().Want(t, 0)
	}
}

// asleep waits until processes have begun their work and rest.
func asleep(t *testing.T, pids ...int) {
	t.Helper()
	before := make([]time.Duration, len(pids))
	quiet := 0
	for end := time.Now().Add(30 * time.Second); quiet < 3; quiet++ {
		if time.Now().After(end) {
			t.Fatalf("processes %d do not come to rest", pids)
		}
		time.Sleep(500 * time.Millisecond)
		for i, pid := range pids {
			_, cpu := usedBy(t, pid)
			if cpu-before[i] >= time.Millisecond || cpu == 0 {
				quiet = 0
			}
			before[i] = cpu
		}
	}
}

// usedBy returns how often the threads of a process went to sleep, and their
// CPU time, from the kernel's counters.
func usedBy(t *testing.T, pid int) (wakes int64, cpu time.Duration) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		dir := fmt.Sprintf("/proc/%d/task/%s/", pid, task.Name())
		for line := range strings.Lines(read(t, dir+"status")) {
			if text, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				wakes += n
			}
		}
		ns, err := strconv.ParseInt(strings.Fields(read(t, dir+"schedstat"))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cpu += time.Duration(ns)
	}
	return wakes, cpu
}
