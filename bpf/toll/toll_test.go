package toll

import (
	"runtime"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// Tolls are those of a machine: no hook is free, and a record costs more than none.
func TestMeasure(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	start := time.Now()
	m := Measure()
	t.Logf("%+v in %v", m, time.Since(start))
	for name, d := range map[string]time.Duration{
		"tracepoint": m.Tracepoint, "raw": m.Raw, "probe": m.Probe,
	} {
		if d < 5*time.Nanosecond || d > 20*time.Microsecond {
			t.Errorf("%s: got %v, want some ns", name, d)
		}
	}
	if m.Clock <= 0 || m.Clock > 5*time.Microsecond {
		t.Errorf("clock: got %v", m.Clock)
	}
}

// Who observes system calls meanwhile sees all of them. The calls are counted by their own tracepoint
// too, at which no program is.
func TestOthersSeeAllEvents(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := testkit.Counter(t, "raw_syscalls:sys_enter")
	getppid := testkit.Counter(t, "syscalls:sys_enter_getppid")
	Measure()
	got, want := all(), getppid()
	if want < 2*3*rounds*calls {
		t.Fatalf("got %d calls, want those of two kinds of hooks", want)
	}
	// While another program runs on the CPU the kernel hides an event.
	if got < want-want/100 {
		t.Errorf("got %d of %d events, want all", got, want)
	}
}
