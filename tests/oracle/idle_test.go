package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// idleFor is how long is looked at who waits for events that do not come.
const idleFor = 5 * time.Second

// Who observes a process that sleeps, sleeps as well: it is woken at most twice a
// second, and takes at most 0.02 % of a CPU. The first event wakes it.
func TestNothingHappens(t *testing.T) {
	live(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	for _, c := range []struct{ name, args string }{
		{"perf rings", "trace --engine perf -e raw_syscalls:sys_enter"},
		{"projected records", "trace -e raw_syscalls:sys_enter"},
		{"kernel tier", "top -e raw_syscalls:sys_enter -i 1000s"},
		{"pairs", "syscalls --than 10ms --engine perf"},
		{"details", "syscalls --than 10ms --detail=samecpu"},
		{"clock", "profile -F 99 --engine perf"},
		{"counters", "stat -e context-switches -i 1000s"},
		{"recording", "record -e raw_syscalls:sys_enter -o " + data},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := testkit.StartTarget(t)
			args := append([]string{testkit.PPScript(t)}, strings.Fields(c.args)...)
			p := testkit.Start(t, append(args, "-p", strconv.Itoa(target.PID()))...)
			asleep(t, p.PID())
			testkit.Again(t, func() (wrong []string) {
				wakes, cpu := usedBy(t, p.PID())
				time.Sleep(idleFor)
				moreWakes, moreCPU := usedBy(t, p.PID())
				if n := moreWakes - wakes; n > int64(2*idleFor/time.Second) {
					wrong = append(wrong, fmt.Sprintf("%d wake-ups in %v, want at most 2 a second", n,
						idleFor))
				}
				if d := moreCPU - cpu; d > idleFor/5000 {
					wrong = append(wrong, fmt.Sprintf("%v of CPU time in %v, want at most 0.02 %%", d,
						idleFor))
				}
				return wrong
			})
			if strings.HasPrefix(c.args, "trace") {
				start := time.Now()
				target.Do()
				p.WaitStdout("NR ")
				if d := time.Since(start); d > idleFor {
					t.Errorf("the first event was shown after %v, want it at once", d)
				}
			}
			p.Stop().Want(t, 0)
		})
	}
}

// asleep waits until a process has begun its work and rests.
func asleep(t *testing.T, pid int) {
	t.Helper()
	quiet := 0
	for end := time.Now().Add(30 * time.Second); quiet < 3; {
		if time.Now().After(end) {
			t.Fatalf("process %d does not come to rest", pid)
		}
		_, before := usedBy(t, pid)
		time.Sleep(500 * time.Millisecond)
		if _, after := usedBy(t, pid); after-before < time.Millisecond && after > 0 {
			quiet++
		} else {
			quiet = 0
		}
	}
}

// usedBy is how often the threads of a process went to sleep, and the time for
// which they had a CPU, as the kernel counts them.
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
