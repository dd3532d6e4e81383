package session

import (
	"fmt"
	"os"
	"syscall"

	"ppscript/runtime/event"
)

// knownTime is how long, in time of events, it is believed which threads are
// ours: the runtime makes new ones, seldom, and the kernel gives numbers away
// again.
const knownTime = event.Time(1e9)

// ownThreads returns a function that tells whether a thread is ppscript's own.
func ownThreads() func(e *event.Event, tid int32) bool {
	pid := os.Getpid()
	known := map[int32]bool{}
	var since event.Time
	return func(e *event.Event, tid int32) bool {
		if e.Time < since || e.Time-since > knownTime {
			clear(known)
			since = e.Time
		}
		own, ok := known[tid]
		if !ok {
			own = tid > 0 && syscall.Tgkill(pid, int(tid), 0) == nil
			known[tid] = own
		}
		return own
	}
}

// sayHidden tells what was not printed because it is about ppscript.
func (r *run) sayHidden() {
	if n := r.plan.Hidden(); n > 0 {
		r.verbose(1, fmt.Sprintf("self: %d events about ppscript itself are not shown; --include-self shows them", n))
	}
}
