package plan

import (
	"testing"

	"ppscript/runtime/event"
)

// The keys of a burst are bounded, and those that had to go are counted.
func TestBurstCountsWhatItForgets(t *testing.T) {
	r := &burstRun{spec: &Burst{Count: 2, WithinNS: 1000}, windows: map[int64]window{}}
	for k := range int64(maxWindows + 1) {
		if r.busy(k, event.Time(k)) {
			t.Fatalf("key %d: got a busy time after one event", k)
		}
	}
	if got := r.Loss().Evicted; got != maxWindows {
		t.Errorf("got %d evicted, want %d", got, maxWindows)
	}
	if got := r.Loss().Evicted; got != 0 {
		t.Errorf("got %d evicted again, want none", got)
	}
	if !r.busy(maxWindows, maxWindows+1) {
		t.Error("got no busy time at the second event of a key within the time")
	}
}
