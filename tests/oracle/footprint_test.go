package oracle

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// dates matches the beginnings of intervals.
var dates = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// A run pays nothing for libraries that it does not use: a run that counts takes less than 10 MB
// of private memory, 40 MB with the pages of the program's file, which the kernel shares and can
// reclaim, and the program starts in less than 50 ms.
func TestFootprint(t *testing.T) {
	live(t)
	for _, args := range []string{
		"stat -e context-switches -i 100ms",
		"syscalls -i 100ms",
	} {
		p := testkit.Start(t, append([]string{testkit.PPScript(t)}, strings.Fields(args)...)...)
		p.Await("three intervals", func(out string) bool { return len(dates.FindAllString(out, -1)) >= 3 })
		// Its peak is not usable, because that includes the test process from
		// which it was forked.
		status := read(t, fmt.Sprintf("/proc/%d/status", p.PID()))
		for what, limit := range map[string]int{"VmHWM:": 40, "RssAnon:": 10} {
			took := between(status, what, "kB")
			if kib, err := strconv.Atoi(strings.TrimSpace(took)); err != nil || kib > limit<<10 {
				t.Errorf("%v: took %s %s KiB, want at most %d MiB (%v)", args, what, took, limit, err)
			}
		}
		p.Stop().Want(t, 0)
	}
	testkit.Again(t, func() (wrong []string) {
		cmd := exec.CommandContext(t.Context(), testkit.PPScript(t), "kvm-exit", "--help")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		state := cmd.ProcessState
		if d := state.UserTime() + state.SystemTime(); d > 50*time.Millisecond {
			wrong = append(wrong, "the help took "+d.String()+" of CPU time, want at most 50 ms")
		}
		return wrong
	})
}
