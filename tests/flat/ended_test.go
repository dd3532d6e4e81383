package main

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// Each thread ends in a system call from which it does not return. The entry
// that waits for the return is removed a moment later.
func TestEndedThreadsAreForgotten(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	const ended = 300
	// The others are entries of the last second, and the calls in which the
	// shells wait.
	const most = 200
	for _, args := range [][]string{
		{"multi-trace", "-k", "common_pid", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"},
		{"nested-trace", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"},
	} {
		t.Run(args[0], func(t *testing.T) {
			script := "i=0; while [ $i -lt " + strconv.Itoa(ended) +
				" ]; do (:); i=$((i+1)); done; echo made >&2; while :; do sleep 0.1; done"
			run := testkit.Start(t,
				append(append([]string{testkit.PPScript(t), "--engine", "perf", "-m", "1024"}, args...), "--",
					"sh", "-c", script)...)
			run.WaitStderr("made")
			waiting := regexp.MustCompile(`state: join by \S.*: \d+ pairs, (\d+) events wait`)
			asked := 0
			// This is checked again and again, because the last threads ended less
			// than a second ago.
			run.Await("that few events wait", func(said string) bool {
				found := waiting.FindAllStringSubmatch(said, -1)
				if len(found) < asked {
					return false // the answer is not complete yet
				}
				if asked > 0 {
					if n, err := strconv.Atoi(found[asked-1][1]); err == nil && n < most {
						return true
					}
				}
				run.Signal(syscall.SIGUSR2)
				asked++
				return false
			})
			run.Stop()
		})
	}
}
