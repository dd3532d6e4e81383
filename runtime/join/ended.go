package join

import "ppscript/runtime/event"

// This file lets go of what waits for threads that ended. Each ends in a call
// from which it does not return: without this, programs that come and go leave
// an event each, which would wait, and hold the events after it in the timeline,
// until a bound is hit.
//
// It is for joins whose events are all keyed by the thread that is at work: of
// one that ended none will come.

// linger is how long a thread that ended may still have events, in ns: the last
// are those of its own end.
const linger = 1e9

// An ending is a thread that ended at a time.
type ending struct {
	tid int64
	at  event.Time
}

// endings are the threads that ended a moment ago.
type endings struct {
	queue []ending // by time
	at    map[int64]event.Time
}

// add notes the end of a thread.
func (e *endings) add(tid int32, at event.Time) {
	if e.at == nil {
		e.at = map[int64]event.Time{}
	}
	e.at[int64(tid)] = at
	e.queue = append(e.queue, ending{int64(tid), at})
}

// due calls fn for threads of which nothing will come any more.
func (e *endings) due(now event.Time, fn func(tid int64)) {
	n := 0
	for ; n < len(e.queue) && e.queue[n].at+linger <= now; n++ {
		if x := e.queue[n]; e.at[x.tid] == x.at {
			delete(e.at, x.tid)
			fn(x.tid)
		}
	}
	if n > 0 {
		e.queue = e.queue[:copy(e.queue, e.queue[n:])]
	}
}

// again reports that a thread with the number of one that ended begins.
func (e *endings) again(tid int32) bool {
	_, ended := e.at[int64(tid)]
	delete(e.at, int64(tid))
	return ended
}

// Forgets reports that what waits for threads that ended is of no interest.
func (j *Join) Forgets() bool { return j.integer && j.spec.ByThread && j.spec.Left == nil }

// Ended says that a thread ended, Began that one began.
func (j *Join) Ended(tid int32, at event.Time) {
	if j.Forgets() {
		j.endings.add(tid, at)
	}
}

func (j *Join) Began(tid int32) {
	if j.endings.again(tid) {
		j.forget(int64(tid))
	}
}

func (j *Join) forget(tid int64) {
	if row := j.rows.ints.Find(tid); row >= 0 && j.rows.at[row] >= 0 {
		j.stats.Gone++
		j.discard(j.rows.at[row], Exit, j.now)
	}
}

// Forgets, Ended and Began are those of a Join.
func (n *Nested) Forgets() bool { return n.integer && n.spec.ByThread && n.spec.Left == nil }

func (n *Nested) Ended(tid int32, at event.Time) {
	if n.Forgets() {
		n.endings.add(tid, at)
	}
}

func (n *Nested) Began(tid int32) {
	if n.endings.again(tid) {
		n.forget(int64(tid))
	}
}

func (n *Nested) forget(tid int64) {
	row := n.rows.ints.Find(tid)
	for row >= 0 && n.rows.at[row] >= 0 {
		n.stats.Gone++
		n.remove(n.rows.at[row], Exit, n.now)
	}
}
