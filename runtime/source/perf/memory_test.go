package perf

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

func TestMemoryAttr(t *testing.T) {
	c := Config{Members: []event.Member{
		event.MemberTime, event.MemberAddr, event.MemberWeight, event.MemberDataSrc, event.MemberPhysAddr,
	}}
	for precise := range uint8(4) {
		a := c.sampling(&EventConfig{
			Schema:    &event.Schema{Type: unix.PERF_TYPE_RAW, ID: 0x1cd},
			EventAttr: EventAttr{Config1: 30, Precise: precise},
			Period:    1000,
		}, false, false)
		// precise_ip is bits 15 and 16 behind read_format.
		if got := a.Bits >> 15 & 3; got != uint64(precise) || a.Config != 0x1cd || a.Ext1 != 30 ||
			a.Sample != 1000 {
			t.Errorf("precise %d: got %d in attr %+v", precise, got, a)
		}
		const want = unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_WEIGHT |
			unix.PERF_SAMPLE_DATA_SRC | unix.PERF_SAMPLE_PHYS_ADDR
		if a.Sample_type != want {
			t.Errorf("got sample type %#x, want %#x", a.Sample_type, want)
		}
	}
}

// An event that needs a group leader is sampled all the same, also if the leader
// is of another PMU; the leader is closed with it.
func TestLeader(t *testing.T) {
	needRoot(t)
	runtime.LockOSThread() // whose faults are counted
	defer runtime.UnlockOSThread()
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	const pages = 100
	for _, leader := range []uint64{unix.PERF_COUNT_SW_TASK_CLOCK, unix.PERF_COUNT_SW_DUMMY} {
		ev := clock("page-faults")
		ev.Leader, ev.Period = leader, 1
		before := descriptors()
		s, err := Open(t.Context(), Config{
			Events: []EventConfig{ev}, Target: Target{TIDs: []int{unix.Gettid()}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.open.leaders) != len(s.open.fds) || len(s.open.fds) == 0 {
			t.Errorf("got %d leaders of %d events, want one each", len(s.open.leaders), len(s.open.fds))
		}
		memory, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil {
			t.Log(err) // a kernel without huge pages
		}
		for i := 0; i < len(memory); i += os.Getpagesize() {
			memory[i] = 1
		}
		// The kernel may map several pages at one fault.
		if c := drain(t, s); c.samples[0] < pages/20 {
			t.Errorf("leader %d: got %d faults of %d pages, want some", leader, c.samples[0], pages)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if after := descriptors(); after > before {
			t.Errorf("got %d descriptors afterwards, want %d", after, before)
		}
	}
}
