package testkit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Target is the program load, which waits for a signal of the test to begin,
// so that several tracers can attach to it first.
type Target struct {
	*Process
	stdin io.WriteCloser
	runs  int
}

// StartTarget starts the load with its options; all its threads exist and
// sleep when it returns.
func StartTarget(t testing.TB, options ...string) *Target {
	t.Helper()
	return StartTargetFor(t, limit, options...)
}

// StartTargetFor is StartTarget for a target that is needed longer.
func StartTargetFor(t testing.TB, bound time.Duration, options ...string) *Target {
	t.Helper()
	PPScript(t) // built now, so that the build does not take the target's time
	target := &Target{}
	prepare := func(cmd *exec.Cmd) {
		var err error
		if target.stdin, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	target.Process = startWith(t, bound, prepare, append([]string{Load(t), "-wait"}, options...)...)
	target.WaitStdout("ready\n")
	target.settle()
	return target
}

// OnOneCPU keeps the target on CPU 0, which its work keeps busy: on some
// kernels perf gets no switches from the idle task of another CPU.
func (l *Target) OnOneCPU() {
	l.t.Helper()
	Run(l.t, "taskset", "-acp", "0", strconv.Itoa(l.PID())).Want(l.t, 0)
}

// Do makes the target do its work, and returns when the target has finished and
// sleeps.
func (l *Target) Do() {
	l.t.Helper()
	if _, err := io.WriteString(l.stdin, "go\n"); err != nil {
		l.t.Fatalf("load: %v", err)
	}
	l.runs++
	l.WaitStdout(fmt.Sprintf("done %d\n", l.runs))
	l.settle()
}

// Work makes the target repeat its work until stop is called.
func (l *Target) Work() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := io.WriteString(l.stdin, "go\n"); err != nil {
				return
			}
			l.runs++
			for done := fmt.Sprintf("done %d\n", l.runs); !strings.Contains(l.stdout.String(), done); {
				select {
				case <-end:
					return
				case <-time.After(2 * time.Millisecond):
				}
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// End ends the target.
func (l *Target) End() {
	l.t.Helper()
	l.stdin.Close()
	l.Wait().Want(l.t, 0)
}

// state returns the state letter of a process in /proc, "" if there is no such
// process.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:min(1, len(rest))]
}

// Alive reports whether a process exists and has not ended.
func Alive(pid int) bool {
	s := state(pid)
	return s != "" && s != "Z" && s != "X"
}

// settle waits until no thread of the target runs any more, so that tracers
// that end one after the other see the same events.
func (l *Target) settle() {
	l.t.Helper()
	before, same := "", 0
	for deadline := time.Now().Add(limit); same < 15; time.Sleep(2 * time.Millisecond) {
		now, asleep := switches(l.PID())
		if now == before && asleep {
			same++
		} else {
			before, same = now, 0
		}
		if time.Now().After(deadline) {
			l.t.Fatal("load: does not come to rest")
		}
	}
}

// Switches returns a text that stays the same as long as no thread of the target runs.
// A test that starts or ends tracers one after the other compares the texts before and
// after: only some of the tracers see events in between.
func (l *Target) Switches() string {
	text, _ := switches(l.PID())
	return text
}

// switches returns a text that changes whenever a thread of the process gets or
// leaves a CPU. On a busy machine that may take long, so it also returns
// whether all threads sleep.
func switches(pid int) (text string, asleep bool) {
	var b strings.Builder
	asleep = true
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		asleep = asleep && strings.Contains(string(text), "State:\tS")
		if at := strings.Index(string(text), "voluntary_ctxt_switches"); at >= 0 {
			b.WriteString(file + string(text[at:]))
		}
	}
	return b.String(), asleep
}

// AwaitSleep waits until a thread of this process sleeps, as one that waits for an event does.
// Goroutines other than the test's may call it, so it returns whether the thread slept in time.
func AwaitSleep(tid int) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
		if err != nil {
			return err
		}
		if _, state, _ := strings.Cut(string(text), ") "); strings.HasPrefix(state, "S") {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("thread %d does not sleep: %s", tid, text)
		}
	}
}
