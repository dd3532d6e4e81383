package perf

import (
	"testing"
	"time"

	"ppscript/runtime/event"

	"ppscript/tests/testkit"
)

// TestKnownIsFinal merges all rings of a busy machine up to known, and counts
// the records that turn up later although they are older.
func TestKnownIsFinal(t *testing.T) {
	needRoot(t)
	testkit.Requires(t, testkit.CPU1)
	h := startHelper(t) // runs on CPU 0, its pool anywhere
	s := openSource(t, Config{Events: []EventConfig{
		{Schema: tracepoint(t, "raw_syscalls:sys_enter", "id")},
		{Schema: tracepoint(t, "sched:sched_switch", "next_pid")},
	}, Members: []event.Fact{event.FactTime}, Pages: 1024})
	stop := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-stop:
				return
			default:
				h.do("call 1000")
				h.do("thread 100")
			}
		}
	}()
	batch := make([]event.Event, 512)
	var newest event.Time // of what was merged
	seen, late := 0, 0
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
		if err := s.Poll(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		top := newest
		for _, r := range s.Rings() {
			known, _ := r.Bounds()
			for r.Pos() < known {
				for _, e := range batch[:r.Read(batch, known)] {
					seen++
					if e.Time < newest {
						late++
					}
					top = max(top, e.Time)
				}
			}
			r.Release()
		}
		newest = top
	}
	close(stop)
	<-finished
	// An interrupt between stamping and publishing can make one late.
	if seen < 1000 || late > seen/1000 {
		t.Errorf("got %d late of %d records, want less than one in a thousand", late, seen)
	}
	t.Logf("%d records, %d late", seen, late)
}
