package why

import (
	"math"
	"sort"

	"ppscript/runtime/event"
)

// This file finds the times in which a thread had a CPU, from its entries. Between two of
// its own entries it was either on the CPU of the first one all the time, or off the CPU
// since the first one. If there is a loss in between, the first entry is valid up to the
// begin of the loss, and the second one from the end of the loss on.

const (
	never = event.Time(math.MinInt64)
	ever  = event.MaxTime
)

type state uint8

const (
	isUnknown state = iota
	isRunning
	isOff
)

// A stay is a time in which the state of a thread does not change.
type stay struct {
	from, to event.Time
	state    state
	cpu      int32
	now      doing // its activity in this time
	// out and in are the positions of the entries with which it left its CPU and got a CPU
	// back; -1 if unknown.
	out, in int
	reason  string // why the state is unknown
	// the switch to the thread was not observed but inferred, so its time is
	// uncertain
	supposed bool
}

// firstAfter returns the position of the first entry after a time.
func (t *thread) firstAfter(at event.Time) int {
	return sort.Search(len(t.list), func(i int) bool { return t.list[i].at > at })
}

// before returns the position of the newest own entry of the thread before position i; -1
// if there is none.
func (t *thread) before(i int) int {
	for i--; i >= 0 && t.list[i].other; i-- {
	}
	return i
}

// after returns the position of the next own entry, from position i on; -1 if
// there is none.
func (t *thread) after(i int) int {
	for ; i < len(t.list); i++ {
		if !t.list[i].other {
			return i
		}
	}
	return -1
}

// stays calls fn for the states of a thread in [from, to), in order and without gaps.
func (x *index) stays(t *thread, from, to event.Time, fn func(s *stay)) {
	first := t.before(t.firstAfter(from))
	for from < to {
		next := t.after(first + 1)
		end := ever
		if next >= 0 {
			end = t.list[next].at
		}
		if end > from {
			x.between(t, first, next, func(s *stay) {
				if s.to <= from || s.from >= to {
					return
				}
				fn(s)
			})
		}
		if next < 0 {
			return
		}
		first, from = next, max(from, end)
	}
}

// between calls fn for the states of a thread between two successive own
// entries.
func (x *index) between(t *thread, first, next int, fn func(s *stay)) {
	a := stay{from: never, state: isUnknown, reason: x.why, out: -1, in: -1, now: nothing}
	z := stay{to: ever, state: isUnknown, out: -1, in: -1, now: nothing}
	if first >= 0 {
		e := &t.list[first]
		r := &x.recs[e.rec]
		a.from, a.state, a.cpu, a.now, a.reason = e.at, isRunning, r.cpu, e.now, ""
		if r.kind == kSwitch && r.tid == t.tid {
			a.state, a.out = isOff, first
		}
		a.supposed = r.supposed()
	}
	if next >= 0 {
		e := &t.list[next]
		r := &x.recs[e.rec]
		z.to, z.state, z.cpu, z.now = e.at, isRunning, r.cpu, x.beforeEntry(t, next)
		if r.kind == kSwitch && r.other == t.tid {
			z.state, z.in = isOff, next
		}
	}
	a.to, z.from = z.to, a.from
	x.limit(t, first, &a, &z)
	if a.to >= z.to {
		a.to, a.in = z.to, z.in
		fn(&a)
		return
	}
	if a.to > a.from {
		fn(&a)
	}
	if z.from > a.to {
		fn(&stay{from: a.to, to: z.from, out: -1, in: -1, now: nothing, reason: a.reason})
	}
	if z.to > z.from {
		fn(&z)
	}
}

// limit ends the stay a, which the first entry shows, at the begin of a loss, and
// begins the stay z, which the second entry shows, at the end of the loss.
func (x *index) limit(t *thread, first int, a, z *stay) {
	from, to := a.from, z.to
	sure := true
	if a.state != isUnknown {
		if b, _, reason, ok := x.hiding(t, first, a.where(), from, to); ok {
			a.to, a.reason, sure = b, reason, false
		}
	} else {
		a.to, sure = never, false
		z.from = x.since
		switch {
		case x.since == 0:
			z.from = never
		case z.state != isUnknown:
			z.from = x.stateTime(z, z.from)
		}
	}
	if z.state != isUnknown {
		if _, e, reason, ok := x.hiding(t, first, z.where(), max(from, x.since), to); ok {
			z.from, sure = x.stateTime(z, e), false
			if a.reason == "" {
				a.reason = reason
			}
		}
	} else if sure {
		a.to = ever // there are no later events
		return
	} else {
		z.from = to
	}
	switch {
	case !sure:
		z.from = max(z.from, a.to)
	case a.state == z.state && (a.state == isOff || a.cpu == z.cpu):
		a.to, z.from = to, to
	default: // the two entries contradict each other, although no loss is known
		a.to, a.reason, z.from = from, "events are missing", to
	}
	z.from = min(z.from, to)
}

// stateTime returns the time from which on a state is known after a loss that ended at a time. A
// thread is known to have a CPU from the first event that shows it.
func (x *index) stateTime(z *stay, at event.Time) event.Time {
	if z.state != isRunning || z.cpu < 0 || int(z.cpu) >= len(x.cpus) {
		return at
	}
	list := x.cpus[z.cpu].list
	for i := max(firstTurnAfter(list, at)-1, 0); i < len(list) && list[i].at < z.to; i++ {
		if list[i].cur >= 0 {
			return max(at, list[i].at)
		}
	}
	return z.to
}

// where returns the CPU whose losses can hide a change of the state.
func (s *stay) where() int32 {
	if s.state == isRunning {
		return s.cpu
	}
	return anyCPU
}

// beforeEntry returns the activity of a thread just before an entry.
func (x *index) beforeEntry(t *thread, i int) doing {
	e := &t.list[i]
	now := e.now
	switch r := &x.recs[e.rec]; r.kind {
	case kEnter, kExit:
		return doing{e.rec, -1, -1, -1} // a later record, which shows the state before it, see call
	case kFault, kFaultIn:
		now.fault = -1
	case kLock:
		now.lock = r.ref
	case kFaultDone:
		now.fault = e.rec
	case kLockDone:
		now.lock = e.rec
	}
	return now
}

// call returns whether a thread is in a system call at a time, and the record that
// began or ended the call. known is false if that is unknown, such as between two
// calls if only some calls are observed.
func (x *index) call(d doing, at event.Time) (r *record, in, known bool) {
	if d.sys < 0 {
		return nil, false, false
	}
	r = &x.recs[d.sys]
	in = r.kind == kEnter
	if r.at > at {
		in = !in
	}
	if r.at > at && in {
		return r, true, true // the end has the number of the call
	}
	return r, in, in || x.allCalls
}
