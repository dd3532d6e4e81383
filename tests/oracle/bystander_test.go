package oracle

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// Programs of ours at a tracepoint hide none of its events from its other tracers: the
// kernel would, if one returned 0.
func TestBystandersSeeAllEvents(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 1000
	f := func(event string, args ...string) {
		t.Helper()
		p := testkit.Start(t, append([]string{testkit.PPScript(t), "-v"}, args...)...)
		p.WaitStderr(" open event")
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		count := testkit.Counter(t, event)
		for range calls {
			_, _ = unix.Open("/no/such/file", unix.O_RDONLY, 0)
		}
		// While another program runs on the CPU the kernel hides an event.
		if got := count(); got < calls-calls/20 {
			t.Errorf("%s beside %v: got %d events, want %d", event, args, got, calls)
		}
		p.Stop().Want(t, 0)
	}
	self := strconv.Itoa(os.Getpid())
	// Texts that were not in memory are read by a program at the end of the call.
	f("syscalls:sys_exit_openat", "-p", self, "-c",
		`tracepoint("syscalls:sys_enter_openat").log(fields = {"file": "user_string(filename)"})`)
	f("syscalls:sys_enter_openat", "top", "--engine", "bpf", "-p", self, "-e", "syscalls:sys_enter_openat//key=pid/")
	f("syscalls:sys_enter_openat", "top", "--engine", "bpf", "-e", "syscalls:sys_enter_openat/flags==4095/key=pid/")
}
