package perf

import (
	"context"
	"math"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// clockTries bounds the attempts of ReadClock. It stops early if the readings of
// both clocks are within clockNear: on a busy machine the thread may be preempted
// between them for milliseconds.
const (
	clockTries = 8
	clockNear  = 20 * time.Microsecond
)

// ReadClock returns a moment on the clock of records and the wall-clock time of
// the same moment, a few microseconds apart. It sets the name of the calling
// thread to its present name and reads the time of the COMM record. That moment
// is exact, and is between the begin and the end of the call. ok is false if
// this is not permitted.
func ReadClock(ctx context.Context, clock Clock) (at event.Time, wall time.Time, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	src, err := Open(ctx, Config{Target: Target{TIDs: []int{tid}}, SideBand: SideBand{Comm: true},
		Members: []event.Member{event.MemberTime}, Pages: 1, Clock: clock})
	if err != nil {
		return 0, wall, false
	}
	defer src.Close()
	// prctl is used, not /proc/self/task, whose files belong to root while a
	// program with file capabilities runs.
	var name [16]byte // TASK_COMM_LEN
	if err := unix.Prctl(unix.PR_GET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return 0, wall, false
	}
	best := time.Duration(math.MaxInt64)
	for range clockTries {
		before := time.Now()
		if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
			return 0, wall, false
		}
		after := time.Now()
		stamp, came := lastComm(ctx, src)
		if !came {
			continue
		}
		if took := after.Sub(before); took < best {
			best, at, wall, ok = took, stamp, before.Add(took/2), true
		}
		if best <= clockNear {
			break
		}
	}
	return at, wall, ok
}

// lastComm returns the time of the last COMM record in the rings; false if
// there is none.
func lastComm(ctx context.Context, src *Source) (at event.Time, came bool) {
	if err := src.Poll(ctx, 0); err != nil {
		return 0, false
	}
	var evs [8]event.Event
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		for r.Pos() < visible {
			n := r.Read(evs[:], visible)
			for _, e := range evs[:n] {
				if e.Kind == event.Comm && e.Time != 0 {
					at, came = e.Time, true
				}
			}
			if n == 0 {
				break
			}
		}
		r.Release()
	}
	return at, came
}
