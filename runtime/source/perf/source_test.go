package perf

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/tests/testkit"
)

func TestCPUCountsEveryCall(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}}})
	h.do("call %d", 1000)
	c := drain(t, s)
	if c.samples[0] != 1000 || c.lost != 0 || c.byTID[int32(h.tid)] != 1000 {
		t.Errorf("got %+v, want 1000 samples of thread %d", c, h.tid)
	}
}

func TestSampleMembers(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}},
		Members: []event.Member{
			event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberPeriod,
			event.MemberCallchain, event.MemberID,
		}})
	h.do("call 1")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Poll(t.Context(), 0)
	var e [4]event.Event
	r := s.Rings()[0]
	_, visible := r.Bounds()
	if n := r.Read(e[:], visible); n != 1 {
		t.Fatalf("got %d events, want 1", n)
	}
	ev := &e[0]
	if ev.PID != int32(h.pid) || ev.TID != int32(h.tid) || ev.CPU != 0 || ev.Time == 0 {
		t.Errorf("got pid %d tid %d cpu %d time %d", ev.PID, ev.TID, ev.CPU, ev.Time)
	}
	// The record of raw_syscalls:sys_enter: 8 common bytes, then the number.
	if len(ev.Raw) < 16 || binary.LittleEndian.Uint64(ev.Raw[8:]) != unix.SYS_GETPPID {
		t.Errorf("raw: got %x, want syscall %d at 8", ev.Raw, unix.SYS_GETPPID)
	}
	if p, ok := ev.Stream.Members.Member(ev, event.MemberPeriod); !ok || p != 1 {
		t.Errorf("period: got %d, %v; want 1", p, ok)
	}
	chain := ev.Stream.Members.Callchain(ev)
	if len(chain) < 3 || chain[0] != ^uint64(127) { // PERF_CONTEXT_KERNEL
		t.Errorf("callchain: got %x, want a kernel context and addresses", chain)
	}
}

func TestRingWrapsWithoutLoss(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, h.tid)},
		Target: Target{CPUs: []int{0}},
		Pages:  1,
	})
	seen, batch := 0, make([]event.Event, 16)
	for i := range 200 {
		h.do("call 20")
		s.Poll(t.Context(), 0)
		r := s.Rings()[0]
		_, visible := r.Bounds()
		for n := len(batch); n == len(batch); {
			n = r.Read(batch, visible)
			for j := range batch[:n] {
				if got := binary.LittleEndian.Uint64(batch[j].Raw[8:]); got != unix.SYS_GETPPID {
					t.Fatalf("round %d: syscall %d, want %d", i, got, unix.SYS_GETPPID)
				}
			}
			seen += n
		}
		r.Release()
	}
	if seen != 4000 {
		t.Errorf("got %d events, want 4000", seen)
	}
	if st := s.Stats(); st.Lost != 0 || st.Corrupt != 0 || st.Bytes < 10*4096 {
		t.Errorf("got %+v, want no loss over many turns of the ring", st)
	}
}

func TestLossIdentity(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, h.tid)},
		Target: Target{CPUs: []int{0}},
		Pages:  1,
	})
	h.do("call 5000") // fills the ring, then loses
	c := drain(t, s)
	if c.samples[0]+c.lost != 5000 || c.lost == 0 || c.samples[0] == 0 {
		t.Errorf("got %d samples + %d lost = %d, want 5000", c.samples[0], c.lost, c.samples[0]+c.lost)
	}
	if st := s.Stats(); int(st.Lost) != c.lost {
		t.Errorf("statistics: got %d lost, want %d", st.Lost, c.lost)
	}
}

func TestLossIdentityWhileReading(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{
		Events: []EventConfig{getppid(t, h.tid)},
		Target: Target{CPUs: []int{0}},
		Pages:  1,
	})
	seen, lost := 0, 0
	batch := make([]event.Event, 8)
	for range 10 {
		h.do("call 500")
		s.Poll(t.Context(), 0)
		r := s.Rings()[0]
		_, visible := r.Bounds()
		n := r.Read(batch, visible) // a part only
		r.Release()
		for i := range batch[:n] {
			if l, ok := decodeLost(&batch[i]); ok {
				lost += int(l.Count)
			} else {
				seen++
			}
		}
	}
	c := drain(t, s)
	if seen += c.samples[0]; seen+lost+c.lost != 5000 {
		t.Errorf("got %d samples + %d lost = %d, want 5000", seen, lost+c.lost, seen+lost+c.lost)
	}
}

func TestTwoEventsInOneRing(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	exit := getppid(t, h.tid)
	exit.Schema = tracepoint(t, "raw_syscalls:sys_exit", "id")
	exit.Callchain = true
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid), exit}, Target: Target{CPUs: []int{0}}})
	if len(s.Rings()) != 1 {
		t.Fatalf("got %d rings, want 1", len(s.Rings()))
	}
	h.do("call 300")
	c := drain(t, s)
	if c.samples[0] != 300 || c.samples[1] != 300 || c.backward != 0 {
		t.Errorf("got %+v, want 300 of each in order", c)
	}
}

func TestAllCPUs(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}})
	cpus, _ := (&Target{}).cpus(nil)
	if len(s.Rings()) != len(cpus) {
		t.Errorf("got %d rings, want one for each of CPUs %v", len(s.Rings()), cpus)
	}
	h.do("call 100")
	if c := drain(t, s); c.samples[0] != 100 {
		t.Errorf("got %+v, want 100 samples", c)
	}
}

func TestPollWaitsAndHeedsContext(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}}})
	// Nothing comes: the whole timeout passes. The side records of other
	// processes of the CPU may cut it short.
	var start time.Time
	for tries := 1; ; tries++ {
		start = time.Now()
		err := s.Poll(t.Context(), 250*time.Millisecond)
		if err == nil && time.Since(start) >= 250*time.Millisecond {
			break
		}
		_, visible := s.Rings()[0].Bounds()
		if err != nil || visible == s.Rings()[0].Pos() || tries == 50 {
			t.Fatalf("idle: got %v after %v, want nil after 250ms", err, time.Since(start))
		}
		s.Rings()[0].Read(make([]event.Event, 64), visible)
		s.Rings()[0].Release()
	}
	// A record below the watermark is shown within 100 ms and a bit.
	h.do("call 1")
	start = time.Now()
	if err := s.Poll(t.Context(), time.Minute); err != nil || time.Since(start) > 30*time.Second {
		t.Errorf("one record: got %v after %v, want nil after 100ms", err, time.Since(start))
	}
	if _, visible := s.Rings()[0].Bounds(); visible == 0 {
		t.Error("one record: not visible")
	}
	s.Rings()[0].Read(make([]event.Event, 8), 1<<62)
	s.Rings()[0].Release()
	// The end of the context interrupts the wait.
	ctx, cancel := contextAfter(t, 30*time.Millisecond)
	defer cancel()
	start = time.Now()
	if err := s.Poll(ctx, time.Minute); err != ctx.Err() || err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("cancelled: got %v after %v, want %v at once", err, time.Since(start), ctx.Err())
	}
	// The watermark wakes before the timeout; the looks every 100 ms do not
	// count as wake-ups.
	h.do("call 20000")
	before := s.wakeups
	if err := s.Poll(t.Context(), time.Minute); err != nil || s.wakeups != before+1 {
		t.Errorf("watermark: got %v and %d wake-ups, want nil and one", err, s.wakeups-before)
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}}})
	h.do("call 2000")
	s.Poll(t.Context(), 0)
	r, batch := s.Rings()[0], make([]event.Event, 32)
	_, visible := r.Bounds()
	if n := testing.AllocsPerRun(20, func() {
		if r.Read(batch, visible) != len(batch) {
			t.Fatal("short read")
		}
		r.Release()
	}); n != 0 {
		t.Errorf("got %v allocations for a batch, want 0", n)
	}
}

func TestSoftwareClockSamples(t *testing.T) {
	needRoot(t)
	clock := &event.Schema{
		System: "software",
		Name:   "cpu-clock",
		Type:   unix.PERF_TYPE_SOFTWARE,
		ID:     unix.PERF_COUNT_SW_CPU_CLOCK,
	}
	begin := time.Now()
	s := openSource(t, Config{
		Events: []EventConfig{{Schema: clock, Period: 1_000_000}},
		Target: Target{CPUs: []int{0}},
	})
	opened := time.Now()
	for time.Since(opened) < 100*time.Millisecond {
	}
	least := int(time.Since(opened) / time.Millisecond)
	c := drain(t, s)
	most := int(time.Since(begin) / time.Millisecond)
	// The host of a virtual machine takes CPUs away, and their timers with them.
	if c.samples[0] < least/20 || c.samples[0] > most+2 {
		t.Errorf("got %d samples of 1 ms each in %d to %d ms", c.samples[0], least, most)
	}
}

func TestOverwriteKeepsTheNewest(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	for _, calls := range []int{10, 5000} {
		ev := getppid(t, h.tid)
		s := openSource(t, Config{
			Events:    []EventConfig{ev},
			Target:    Target{CPUs: []int{0}},
			Pages:     1,
			Overwrite: true,
		})
		h.do("call %d", calls)
		if err := s.Poll(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, visible := s.Rings()[0].Bounds(); visible != 0 {
			t.Errorf("visible before Stop: got %d, want 0", visible)
		}
		c := drain(t, s)
		// A page of 4 KiB holds some 50 records of 80 bytes.
		if want := min(calls, 40); c.samples[0] < want || c.samples[0] > min(calls, 100) || c.lost != 0 ||
			c.backward != 0 {
			t.Errorf("%d calls: got %+v, want at least %d samples in order, none lost", calls, c, want)
		}
		if st := s.Stats(); st.Corrupt != 0 {
			t.Errorf("got %d corrupt records", st.Corrupt)
		}
	}
}

// All events count from one moment: of a thread that calls all the time, the first call that is seen has a
// sample of each of 60 events, though the kernel enables them one after another.
func TestEventsCountFromOneMoment(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Go)...) // Go, for the program that calls
	const events = 60
	var cfg Config
	calls := testkit.Start(t, testkit.Load(t), "-getppid", "100000000")
	cfg.Target.PIDs = []int{calls.PID()}
	for range events {
		cfg.Events = append(cfg.Events, EventConfig{Schema: tracepoint(t, "raw_syscalls:sys_enter", "id")})
	}
	// A call that is under way at that moment has only its later events after it: then it is tried again.
	testkit.Again(t, func() (wrong []string) {
		s := openSource(t, cfg)
		batch := make([]event.Event, 4*events)
		got := 0
		for end := time.Now().Add(20 * time.Second); got < len(batch) && time.Now().Before(end); {
			if err := s.Poll(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
			for _, r := range s.Rings() {
				_, visible := r.Bounds()
				got += r.Read(batch[got:], visible)
			}
		}
		streams := map[*event.Stream]bool{}
		for _, e := range batch[:min(got, events)] {
			streams[e.Stream] = e.Kind == event.Sample
		}
		if len(streams) != events {
			wrong = append(wrong, fmt.Sprintf("got samples of %d events of the first call, want all %d",
				len(streams), events))
		}
		return wrong
	})
}
