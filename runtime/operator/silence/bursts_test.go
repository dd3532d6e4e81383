package silence

import (
	"testing"

	"ppscript/runtime/event"
)

// The keys of a burst are bounded, and keys that had to go are counted.
func TestBurstCountsWhatItForgets(t *testing.T) {
	r := &Bursts{Count: 2, Within: 1000}
	for k := range int64(maxWindows + 1) {
		if r.Busy(k, event.Time(k)) {
			t.Fatalf("key %d: got a busy time after one event", k)
		}
	}
	if got := r.Loss().Evicted; got != maxWindows {
		t.Errorf("got %d evicted, want %d", got, maxWindows)
	}
	if got := r.Loss().Evicted; got != 0 {
		t.Errorf("got %d evicted again, want none", got)
	}
	if !r.Busy(maxWindows, maxWindows+1) {
		t.Error("got no busy time at the second event of a key within the time")
	}
}
