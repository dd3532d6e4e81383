package perf

import (
	"context"
	"runtime"
	"time"
	"unsafe"

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
	// By prctl, not by /proc/self/task: its files are root's while a program
	// with file capabilities runs.
	var name [16]byte // TASK_COMM_LEN
	if err := unix.Prctl(unix.PR_GET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return 0, wall, false
	}
	before := time.Now()
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
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
