package cost

import (
	"testing"
	"time"

	"ppscript/runtime/source/perf"
)

func TestRate(t *testing.T) {
	start := time.Unix(1000, 0)
	r := NewRate(100, start)
	f := func(after time.Duration, want string, records ...uint64) {
		t.Helper()
		var rings []perf.RingStats
		for cpu, n := range records {
			rings = append(rings, perf.RingStats{CPU: cpu, TID: -1, Records: n})
		}
		if got := r.Exceeded(RingSenders(rings), start.Add(after)); got != want {
			t.Errorf("after %v: got %q, want %q", after, got, want)
		}
	}
	// A burst does not count before a second is over, and not as more than it is.
	if got, want := r.Due(), start.Add(time.Second); got != want {
		t.Errorf("got due %v, want %v", got, want)
	}
	f(10*time.Second, "", 1000, 0)
	f(11*time.Second, "", 1100, 100)
	// A ring that is new sent all that it has since.
	f(12*time.Second, "", 1200, 100, 100)
	f(13*time.Second,
		"sampling-limit: CPU 1 sent 101 events in 1s, 101 a second, more than 100: the run ends", 1300,
		201, 100)

	thread := RingSenders([]perf.RingStats{{CPU: -1, TID: 77, Records: 5000}})
	if got, want := NewRate(100, start).Exceeded(thread, start.Add(2*time.Second)),
		"sampling-limit: thread 77 sent 5000 events in 2s, 2500 a second, more than 100: the run ends"; got !=
		want {
		t.Errorf("thread: got %q, want %q", got, want)
	}
	if due := NewRate(0, start).Due(); !due.IsZero() {
		t.Errorf("no limit: got due %v", due)
	}
}
