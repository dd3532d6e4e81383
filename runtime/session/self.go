package session

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
)

// knownTime is how long the result of a check of a thread stays valid, in time
// of events. The Go runtime sometimes makes new threads, and the kernel reuses
// numbers.
const knownTime = event.Time(1e9)

// ownThreads returns a function that reports whether a thread is ppscript's
// own.
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

// ownStacks returns a function that reports whether a row of counts by stack,
// counted by programs, is about ppscript itself.
func ownStacks(in *plan.Instance) func(g *agg.Group, p *agg.Partial) bool {
	counts := map[*agg.Group]bool{}
	for _, s := range plan.Runs[*plan.StacksRun](in) {
		counts[s.Group] = true
	}
	pid := int64(os.Getpid())
	return func(g *agg.Group, p *agg.Partial) bool {
		const at = 8 * plan.StacksPID // the numbers before it in the key take 8 bytes each
		return counts[g] && len(p.Key) >= at+8 && int64(binary.LittleEndian.Uint64(p.Key[at:])) == pid
	}
}

// sayHidden tells the user how many events about ppscript itself were left out.
func (r *run) sayHidden() {
	n := r.instance.Hidden()
	if r.in.kernel != nil {
		n += r.in.kernel.rows.hidden
	}
	if n > 0 {
		r.env.msgs.verbose(1,
			fmt.Sprintf("self: %d events about ppscript itself are not shown; --include-self shows them", n))
	}
}
