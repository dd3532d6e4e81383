package why

import (
	"math"
	"sort"

	"ppscript/runtime/event"
)

// This file tells when a thread had a CPU and when not, from its entries: between two
// entries of what it did itself it was all the time on the CPU of the first, or off since
// the first. A loss hides that from its begin on, and what the second entry tells holds
// back to its end.

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

// A stay is a time in which a thread's state does not change.
type stay struct {
	from, to event.Time
	state    state
	cpu      int32
	now      doing // by what it is there
	// out is the position of the entry with which it left its CPU, in that of the one with
	// which it comes back; -1 is not known.
	out, in int
	reason  string // why it is not known
	// perhaps not yet: the switch to it was not seen, and is supposed
	supposed bool
}

// firstAfter is the position of the first entry that is later than t.
func (t *thread) firstAfter(at event.Time) int {
	return sort.Search(len(t.list), func(i int) bool { return t.list[i].at > at })
}

// before is the newest entry before position i of what the thread did itself; -1 is none.
func (t *thread) before(i int) int {
	for i--; i >= 0 && t.list[i].other; i-- {
	}
	return i
}

// after is the next one, from position i on; -1 is none.
func (t *thread) after(i int) int {
	for ; i < len(t.list); i++ {
		if !t.list[i].other {
			return i
		}
	}
	return -1
}

// stays calls fn for what is known of a thread in [from, to), in order, without gaps.
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

// between tells a thread's states between two entries that follow each other.
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

// limit ends what the first of two entries tells where a loss hides what followed, and
// begins what the second one tells where the loss ends.
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
		a.to = ever // nothing came after it
		return
	} else {
		z.from = to
	}
	switch {
	case !sure:
		z.from = max(z.from, a.to)
	case a.state == z.state && (a.state == isOff || a.cpu == z.cpu):
		a.to, z.from = to, to
	default: // the two do not fit, although no loss is known
		a.to, a.reason, z.from = from, "events are missing", to
	}
	z.from = min(z.from, to)
}

// stateTime is the time from which on a state is known after a loss that ended at a time: a thread has a CPU
// since an event of that tells so.
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

// where is the CPU whose losses matter to a state.
func (s *stay) where() int32 {
	if s.state == isRunning {
		return s.cpu
	}
	return anyCPU
}

// beforeEntry is what a thread was doing just before an entry.
func (x *index) beforeEntry(t *thread, i int) doing {
	e := &t.list[i]
	now := e.now
	switch r := &x.recs[e.rec]; r.kind {
	case kEnter, kExit:
		return doing{e.rec, -1, -1, -1} // as one that is later: it says what was before
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

// call says whether a thread is in a system call at a time, and in which: the record
// that began or ended it. known is false where nothing tells, as between two calls
// where only some are observed.
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
		return r, true, true // its end has its number
	}
	return r, in, in || x.allCalls
}
