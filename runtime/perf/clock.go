package perf

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// ReadClock returns a moment on the clock of records and the wall-clock time
// of the same moment, a few microseconds apart. It renames the calling thread
// to its own name and takes the time of the comm record. ok is false where
// that is not allowed.
func ReadClock(ctx context.Context, clock Clock) (at event.Time, wall time.Time, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	src, err := Open(ctx, Config{Target: Target{TIDs: []int{tid}}, SideBand: SideBand{Comm: true},
		Members: []event.Fact{event.FactTime}, Pages: 1, Clock: clock})
	if err != nil {
		return 0, wall, false
	}
	defer src.Close()
	path := fmt.Sprintf("/proc/self/task/%d/comm", tid)
	name, err := os.ReadFile(path)
	if err != nil {
		return 0, wall, false
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return 0, wall, false
	}
	defer file.Close()
	before := time.Now()
	if _, err := file.Write(name[:len(name)-1]); err != nil {
		return 0, wall, false
	}
	after := time.Now()
	if err := src.Poll(ctx, 0); err != nil {
		return 0, wall, false
	}
	var evs [8]event.Event
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		for _, e := range evs[:r.Read(evs[:], visible)] {
			if e.Kind == event.Comm && e.Time != 0 {
				return e.Time, before.Add(after.Sub(before) / 2), true
			}
		}
	}
	return 0, wall, false
}
