package oracle

import (
	"strconv"
	"testing"

	"ppscript/tests/testkit"
)

// For a program that computes on CPU 0, options about the moment keep all
// samples or none: at least one task is runnable on that CPU, interrupts are
// not disabled when a timer interrupts, and the excluded process is this
// program or another one.
func TestProfileOfMoments(t *testing.T) {
	live(t, testkit.Samples)
	l := testkit.StartTarget(t, "-spin", "300")
	pid := strconv.Itoa(l.PID())
	profile := func(options ...string) *testkit.Process {
		p := testkit.Start(t,
			append([]string{
				testkit.PPScript(t), "profile", "--event", "cpu-clock", "-F", "500", "-C", "0",
				"--format", "json", "-v",
			}, options...)...)
		p.WaitStderr(" open event")
		return p
	}
	cases := []struct {
		options []string
		some    bool
	}{
		{[]string{"--nr_running_min", "1", "--irqs_disabled=0", "--prio", "0-99,100-139"}, true},
		{[]string{"--nr_running_max=0"}, false},
		{[]string{"--irqs_disabled"}, false},
		{[]string{"--exclude_pid", pid, "--nr_running_min", "1"}, false},
		{[]string{"--exclude_pid", "1"}, true},
		{[]string{"--sched_policy", "0", "--nr-running-max", "100000"}, true},
		{[]string{"--sched_policy", "6"}, false},
		{[]string{"--prio", "0-98"}, false},
	}
	var running []*testkit.Process
	for _, c := range cases {
		running = append(running, profile(c.options...))
	}
	l.Do()
	l.End()
	for i, p := range running {
		n := 0
		for _, e := range testkit.Events(t, p.Stop().Want(t, 0).Stdout) {
			if e.PID == l.PID() {
				n++
			}
		}
		if (n > 0) != cases[i].some {
			t.Errorf("profile %v: got %d samples of the program, want some: %v",
				cases[i].options, n, cases[i].some)
		}
	}
}
