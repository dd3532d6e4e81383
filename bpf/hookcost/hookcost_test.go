package hookcost

import (
	"runtime"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"ppscript/bpf/load"
	"ppscript/tests/testkit"
)

// hooks are programs on all that is tried out.
var hooks = []load.Program{{Kind: ebpf.TracePoint}, {Kind: ebpf.RawTracepoint}, {Kind: ebpf.Kprobe}}

// A run that needs none of the hooks, or one, has no others tried out.
func TestMeasureWhatIsNeeded(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	getppid := testkit.Counter(t, "syscalls:sys_enter_getppid")
	Measure([]load.Program{{Kind: ebpf.PerfEvent}, {Kind: ebpf.Kprobe, User: true},
		{Kind: ebpf.TracePoint, Event: -1}})
	if n := getppid(); n != 0 {
		t.Errorf("got %d calls, want none", n)
	}
	Measure([]load.Program{{Kind: ebpf.RawTracepoint}, {Kind: ebpf.RawTracepoint}})
	if n := getppid(); n == 0 || n > 3*rounds*calls {
		t.Errorf("got %d calls, want those of one kind of hook, %d at most", n, 3*rounds*calls)
	}
}

// TestMeasure checks that costs are the costs of a real machine: no hook is free, and a record
// costs more than none.
func TestMeasure(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	start := time.Now()
	m := Measure(hooks)
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

// A tracer of system calls meanwhile sees all of them. The calls are counted by their own tracepoint
// too, at which no program is.
func TestOthersSeeAllEvents(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := testkit.Counter(t, "raw_syscalls:sys_enter")
	getppid := testkit.Counter(t, "syscalls:sys_enter_getppid")
	Measure(hooks)
	got, want := all(), getppid()
	if want < 2*3*rounds*calls {
		t.Fatalf("got %d calls, want those of two kinds of hooks", want)
	}
	// While another program runs on the CPU the kernel hides an event.
	if got < want-want/100 {
		t.Errorf("got %d of %d events, want all", got, want)
	}
}

// TestMeasureRecords checks that records with more members cost more, and events that are off less
// than events that are on. A record of a system call has its number and six arguments, 64 bytes
// with what all have.
func TestMeasureRecords(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	few := MeasureRecords(0, OfTracepoint)
	many := MeasureRecords(priced, OfTracepoint)
	t.Logf("few %+v, many %+v", few, many)
	if few.Idle >= few.Each || few.Each > 20*time.Microsecond {
		t.Errorf("got %+v, want less for events that are off", few)
	}
	if few.small < 72 || few.small > 96 || many.small < few.small+8*8 {
		t.Errorf("got records of %d and %d bytes", few.small, many.small)
	}
	if got := MeasureRecords(0, OfProgram); got.Idle != UserProbe || got.Each < UserProbe {
		t.Errorf("probe in a program: got %+v", got)
	}
	if got := MeasureRecords(0, OfSamples); got.Idle != 0 || got.Each < Sample {
		t.Errorf("samples: got %+v", got)
	}
}
