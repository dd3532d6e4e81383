package oracle

import (
	"regexp"
	"testing"

	"ppscript/tests/testkit"
)

// Counters of all CPUs count the events of a command from its first moment on: the command waits
// until all counters have been read, however many there are.
func TestCountersSeeTheBeginOfTheCommand(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	out := testkit.Run(t, testkit.PPScript(t), "stat", "-a", "-e", "sched:*,irq:*", "--", "true")
	out.Want(t, 0)
	if !regexp.MustCompile(`sched:sched_process_exec +[1-9]`).MatchString(out.Stdout + out.Stderr) {
		t.Errorf("got no execve, want that of the command: %s%s", out.Stdout, out.Stderr)
	}
}
