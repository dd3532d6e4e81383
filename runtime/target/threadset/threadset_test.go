package threadset

import (
	"os"
	"testing"
	"time"
)

func TestOverSoonAfterTheEndIsTold(t *testing.T) {
	now := time.Now()
	w := Set{pids: []int{os.Getpid()}, EndsPoll: true}
	f := func(after time.Duration, told, want bool) {
		t.Helper()
		if got := w.Over(now.Add(after), told); got != want {
			t.Errorf("%s: got over %v, want %v", after, got, want)
		}
	}
	f(0, false, false)
	f(time.Second, false, false) // it still runs
	f(1100*time.Millisecond, true, false)
	f(1100*time.Millisecond+LastSwitch-1, true, false) // the last switch may still come
	f(1100*time.Millisecond+LastSwitch, true, true)
}
