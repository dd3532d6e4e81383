package perf

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// idle polls until the source sleeps.
func idle(t *testing.T, s *Source) {
	t.Helper()
	for range 100 {
		if s.Idle() && s.bells.On {
			return
		}
		if err := s.Poll(t.Context(), drainEvery); err != nil {
			t.Fatal(err)
		}
		readSamples(s)
	}
	t.Fatalf("got %d quiet looks and bells %v, want a source that sleeps", s.quiet, s.bells.On)
}

// readSamples reads what there is, and returns the number of samples.
func readSamples(s *Source) (n int) {
	batch := make([]event.Event, 64)
	for _, r := range s.Rings() {
		_, visible := r.Bounds()
		for got := len(batch); got == len(batch); {
			got = r.Read(batch, visible)
			for i := range batch[:got] {
				if batch[i].Kind == event.Sample {
					n++
				}
			}
		}
		r.Release()
	}
	return n
}

// The waits of these tests are longer than the delays that they tolerate, and
// shorter than a reader's sleep, so that a bell that does not ring makes them
// fail.
const bellTest = sleepTime / 2

func TestFirstEventWakesWhoSleeps(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	for _, c := range []struct {
		name   string
		target Target
	}{
		{"thread", Target{TIDs: []int{h.tid}}},
		{"process and what it starts", Target{PIDs: []int{h.tid}, Inherit: Yes}},
		{"CPU", Target{CPUs: []int{0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: c.target})
			for _, calls := range []string{"1", "1", "20000", "1"} { // the third fills its bell
				idle(t, s)
				h.do("call " + calls)
				start := time.Now()
				n := 0
				for n == 0 && time.Since(start) < bellTest {
					if err := s.Poll(t.Context(), time.Minute); err != nil {
						t.Fatal(err)
					}
					n = readSamples(s)
				}
				if took := time.Since(start); n == 0 || took >= bellTest {
					t.Errorf("%s calls: got %d samples after %v, want some at once", calls, n, took)
				}
				if s.Idle() || s.bells.On {
					t.Errorf("%s calls: the source sleeps, want it to look", calls)
				}
			}
		})
	}
}

func TestWakeEndsPoll(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{TIDs: []int{h.tid}}})
	idle(t, s)
	timer := time.AfterFunc(20*time.Millisecond, s.Wake)
	defer timer.Stop()
	start := time.Now()
	if err := s.Poll(t.Context(), time.Minute); err != nil || time.Since(start) >= bellTest {
		t.Errorf("got %v after %v, want nil at once", err, time.Since(start))
	}
	if !s.Idle() {
		t.Error("got a source that looks, want one that still sleeps")
	}
}

func TestScarceEventsHaveNoBells(t *testing.T) {
	needRoot(t)
	thousandth := []EventConfig{{
		Schema: &event.Schema{System: "software", Name: "page-faults",
			Type: unix.PERF_TYPE_SOFTWARE, ID: unix.PERF_COUNT_SW_PAGE_FAULTS}, Period: 1000,
	}}
	s := openSource(t, Config{Events: thousandth, Target: Target{CPUs: []int{0}}})
	if s.makeBells() {
		t.Error("page-faults, every 1000: got a bell, want none: its first event is not the thousandth")
	}
	if s.bells.Len() != 0 || s.step() > dozeEvery {
		t.Errorf("got %d bells and looks every %v, want none and at most %v", s.bells.Len(), s.step(),
			dozeEvery)
	}
}

// A thread that runs rings its bell, for any kind of event.
func TestThreadThatRunsWakesWhoSleeps(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	ev := getppid(t, h.tid)
	ev.Period = 2
	s := openSource(t, Config{Events: []EventConfig{ev}, Target: Target{TIDs: []int{h.tid}}})
	idle(t, s)
	h.do("call 2")
	start := time.Now()
	n := 0
	for n == 0 && time.Since(start) < bellTest {
		if err := s.Poll(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		n = readSamples(s)
	}
	if n != 1 || time.Since(start) >= bellTest {
		t.Errorf("got %d samples after %v, want 1 at once", n, time.Since(start))
	}
}

// The end of a process is detected before its parent reads its status.
func TestSawEndsOfAll(t *testing.T) {
	needRoot(t)
	s := openSource(t, Config{Target: Target{CPUs: []int{0}},
		Events: []EventConfig{{Schema: tracepoint(t, "sched:sched_process_exec")}}})
	var cmds []*exec.Cmd
	var pids []int
	for range 2 {
		cmd := exec.Command("sleep", "100")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, pids = append(cmds, cmd), append(pids, cmd.Process.Pid)
	}
	if !s.AwaitEnds(pids) {
		t.Fatal("got no news of the ends, want them told")
	}
	for i, cmd := range cmds {
		if s.SawEnds() {
			t.Errorf("got the end of all with %d of 2 ended", i)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for !s.SawEnds() && time.Since(start) < bellTest && i == 1 {
			if err := s.Poll(t.Context(), bellTest); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !s.SawEnds() {
		t.Error("got no end, want that of both")
	}
	for _, cmd := range cmds {
		cmd.Wait()
	}
}

// The first looks come soon, and later ones as often as usual, whether they find something or not.
func TestFirstLooksComeSoon(t *testing.T) {
	for _, some := range []bool{true, false} {
		s := &Source{ringSet: ringSet{rings: make([]event.Ring, 1)}}
		s.rest.src, s.bells.On = s, true
		for i, want := range []time.Duration{10, 20, 40, 80} {
			if got := s.step(); got != want*time.Millisecond && (some || i < quietRounds) {
				t.Errorf("found %v, look %d: got a step of %v, want %v", some, i, got, want*time.Millisecond)
			}
			if s.looks++; !some {
				s.quiet++
			}
		}
		want := drainEvery
		if !some {
			want = sleepTime
		}
		if got := s.step(); got != want {
			t.Errorf("found %v, behind the first looks: got a step of %v, want %v", some, got, want)
		}
	}
}
