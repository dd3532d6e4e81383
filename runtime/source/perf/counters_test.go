package perf

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"

	"ppscript/tests/testkit"
)

func openCounters(t testing.TB, cfg Config) *Counters {
	t.Helper()
	c, err := OpenCounters(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func read(t testing.TB, c *Counters) []Count {
	t.Helper()
	counts, err := c.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func sum(counts []Count, s *event.Stream) (n uint64) {
	for _, c := range counts {
		if c.Stream == s {
			n += c.Value
		}
	}
	return n
}

func TestCountersCountEveryCall(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	exit := getppid(t, h.tid)
	exit.Schema = tracepoint(t, "raw_syscalls:sys_exit", "id")
	c := openCounters(t, Config{Events: []EventConfig{getppid(t, h.tid), exit, clock("task-clock")}})
	h.do("call 12345")
	got := read(t, c)
	for i, s := range c.Streams()[:2] {
		if n := sum(got, s); n != 12345 {
			t.Errorf("event %d: got %d, want 12345", i, n)
		}
	}
	for _, ct := range got {
		if ct.TID != -1 || ct.CPU < 0 || ct.Enabled <= 0 || ct.Running > ct.Enabled {
			t.Errorf("got %+v", ct)
		}
		if ct.CPU != 0 && ct.Stream != c.Streams()[2] && ct.Value != 0 {
			t.Errorf("got %d calls on CPU %d of a thread on CPU 0", ct.Value, ct.CPU)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b Count) int { return a.Stream.Index - b.Stream.Index }) {
		t.Error("not sorted by stream")
	}
}

func TestCountersOfTasks(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	for _, c := range []struct {
		name   string
		target Target
		want   uint64
	}{
		{"pid", Target{PIDs: []int{h.pid}}, 10 + 100},
		{"pid with children", Target{PIDs: []int{h.pid}, Inherit: Yes}, 10 + 100 + 1000},
		{"tid", Target{TIDs: []int{h.tid}}, 10},
		// The thread is made by a thread of the Go runtime, the child by this
		// thread.
		{"tid with children", Target{TIDs: []int{h.tid}, Inherit: Yes}, 10 + 1000},
	} {
		ctr := openCounters(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: c.target})
		h.do("call 10")
		h.do("thread 100")
		h.do("fork 1000")
		if ctr.src.open.strays() {
			c.want += 1000 // and says so
			if len(ctr.src.warnings) != 1 {
				t.Errorf("%s: got warnings %v, want one", c.name, ctr.src.warnings)
			}
		}
		if got := sum(read(t, ctr), ctr.Streams()[0]); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCountersStopAndEnd(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	stopped := openCounters(t, Config{
		Events: []EventConfig{getppid(t, 0)},
		Target: Target{TIDs: []int{h.tid}},
	})
	ended := openCounters(t, Config{Events: []EventConfig{getppid(t, 0)}, Target: Target{PIDs: []int{h.pid}}})
	h.do("call 10")
	if err := ended.Wait(t.Context(), 20*time.Millisecond); err != nil {
		t.Errorf("Wait while the target lives: got %v, want nil", err)
	}
	if err := stopped.Stop(); err != nil {
		t.Fatal(err)
	}
	h.do("call 10")
	h.stop()
	if err := ended.Wait(t.Context(), 10*time.Second); err != io.EOF {
		t.Errorf("Wait for the target's end: got %v, want %v", err, io.EOF)
	}
	if got := sum(read(t, stopped), stopped.Streams()[0]); got != 10 {
		t.Errorf("stopped: got %d, want 10", got)
	}
	if got := sum(read(t, ended), ended.Streams()[0]); got != 20 {
		t.Errorf("ended: got %d, want 20", got)
	}
}

func TestCountersOfWorkload(t *testing.T) {
	needRoot(t)
	c := openCounters(t, Config{
		Events: []EventConfig{getppid(t, 0), clock("task-clock"), clock("page-faults")},
		Target: Target{Workload: helperWorkload(t, "call", "4000")},
	})
	if err := c.Wait(t.Context(), 20*time.Second); err != io.EOF {
		t.Fatalf("Wait: got %v, want %v", err, io.EOF)
	}
	got := read(t, c)
	if n := sum(got, c.Streams()[0]); n != 4000 {
		t.Errorf("got %d calls, want 4000", n)
	}
	if ns := sum(got, c.Streams()[1]); ns < 100_000 || ns > 10_000_000_000 {
		t.Errorf("task-clock: got %d ns", ns)
	}
	if n := sum(got, c.Streams()[2]); n < 50 {
		t.Errorf("got %d page faults, want many: it starts a program", n)
	}
	if st, ok := c.WorkloadStatus(); !ok || !st.Success() {
		t.Errorf("status: got %v, %v", st, ok)
	}
}

func TestCountersReadAllocatesNothing(t *testing.T) {
	testkit.Requires(t, testkit.Plain) // the detector makes a buffer escape
	needRoot(t)
	c := openCounters(t, Config{Events: []EventConfig{clock("cpu-clock")}})
	buf := read(t, c)
	if n := testing.AllocsPerRun(10, func() {
		var err error
		if buf, err = c.Read(buf[:0]); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func TestNamedSchemas(t *testing.T) {
	for _, c := range []struct {
		schema func(string) (*event.Schema, error)
		name   string
		full   string
		typ    uint32
		id     uint64
	}{
		{SoftwareSchema, "cpu-clock", "software:cpu-clock", unix.PERF_TYPE_SOFTWARE, 0},
		{SoftwareSchema, "faults", "software:page-faults", unix.PERF_TYPE_SOFTWARE, 2},
		{SoftwareSchema, "cs", "software:context-switches", unix.PERF_TYPE_SOFTWARE, 3},
		{SoftwareSchema, "cgroup-switches", "software:cgroup-switches", unix.PERF_TYPE_SOFTWARE, 11},
		{HardwareSchema, "cycles", "hardware:cpu-cycles", unix.PERF_TYPE_HARDWARE, 0},
		{CacheSchema, "LLC-load-misses", "cache:LLC-load-misses", unix.PERF_TYPE_HW_CACHE, 2 | 0<<8 | 1<<16},
		{CacheSchema, "dTLB-stores", "cache:dTLB-stores", unix.PERF_TYPE_HW_CACHE, 3 | 1<<8},
	} {
		s, err := c.schema(c.name)
		if err != nil || s.FullName() != c.full || s.Type != c.typ || s.ID != c.id {
			t.Errorf("%s: got %+v, %v; want %s type %d id %#x", c.name, s, err, c.full, c.typ, c.id)
			continue
		}
		if _, ok := s.Field("period"); !ok {
			t.Errorf("%s: no field period", c.name)
		}
	}
	if _, err := SoftwareSchema("page-fault"); err == nil {
		t.Error("page-fault: found, want an error")
	}
}
