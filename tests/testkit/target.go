package testkit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A Target is the load program that waits for the word to begin, so that
// several tracers can attach to it before anything happens.
type Target struct {
	*Process
	stdin io.WriteCloser
	runs  int
}

// StartTarget starts the load with its options; all its threads exist when it
// returns.
func StartTarget(t testing.TB, options ...string) *Target {
	t.Helper()
	target := &Target{}
	prepare := func(cmd *exec.Cmd) {
		var err error
		if target.stdin, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	target.Process = startWith(t, prepare, append([]string{Load(t), "-wait"}, options...)...)
	target.WaitStdout("ready\n")
	return target
}

// Do has the target do its work, and returns when it is done.
func (l *Target) Do() {
	l.t.Helper()
	if _, err := io.WriteString(l.stdin, "go\n"); err != nil {
		l.t.Fatalf("load: %v", err)
	}
	l.runs++
	l.WaitStdout(fmt.Sprintf("done %d\n", l.runs))
}

// End ends the target.
func (l *Target) End() {
	l.t.Helper()
	l.stdin.Close()
	l.Wait().Want(l.t, 0)
}

// state is the letter of a process in /proc, "" if there is none.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:min(1, len(rest))]
}

// Alive reports that a process exists and has not ended.
func Alive(pid int) bool {
	s := state(pid)
	return s != "" && s != "Z" && s != "X"
}
