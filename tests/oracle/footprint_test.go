package oracle

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// What libraries bring is not paid by who does not use it: a run that counts takes less than
// 30 MB, and the program is there in less than 50 ms.
func TestFootprint(t *testing.T) {
	live(t)
	used := func(args ...string) *syscall.Rusage {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testkit.PPScript(t), args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage)
	}
	for _, args := range [][]string{
		{"stat", "-e", "context-switches", "--duration", "500ms"},
		{"syscalls", "--duration", "500ms"},
	} {
		if kib := used(args...).Maxrss; kib > 30<<10 {
			t.Errorf("%v: took %d KiB, want at most 30 MiB", args, kib)
		}
	}
	testkit.Again(t, func() (wrong []string) {
		u := used("kvm-exit", "--help")
		if d := time.Duration(u.Utime.Nano() + u.Stime.Nano()); d > 50*time.Millisecond {
			wrong = append(wrong, "the help took "+d.String()+" of CPU time, want at most 50 ms")
		}
		return wrong
	})
}
