package join

import "ppscript/runtime/event"

// This file drops the waiting events of threads that ended. A thread ends in a
// system call that does not return. Without this file each thread would leave
// an event behind that waits until a bound is hit, and that keeps all later
// events in the timeline.
//
// This is only for joins keyed by the running thread, since a thread that ended
// has no more events.

// linger is the time in ns for which a thread may still have events after its
// reported end.
const linger = 1e9

// An ending is a thread and the time at which it ended.
type ending struct {
	tid int64
	at  event.Time
}

// endings holds, for a join, the threads that ended less than linger ago.
type endings struct {
	forgets bool
	drop    func(tid int64) // drops the events that wait for a thread
	queue   []ending        // by time
	at      map[int64]event.Time
}

// follow enables dropping, unless some operator takes the unpaired events. The
// join's keys must be numbers; drop is called with a key.
func (e *endings) follow(s *Spec, drop func(tid int64)) {
	e.forgets, e.drop = s.ByThread && s.Streams == nil, drop
}

// Ended says that a thread ended.
func (e *endings) Ended(tid int32, at event.Time) {
	if !e.forgets {
		return
	}
	if e.at == nil {
		e.at = map[int64]event.Time{}
	}
	e.at[int64(tid)] = at
	e.queue = append(e.queue, ending{int64(tid), at})
}

// Began says that a thread began; it may have the number of a thread that
// ended.
func (e *endings) Began(tid int32) {
	if _, ended := e.at[int64(tid)]; ended {
		delete(e.at, int64(tid))
		e.drop(int64(tid))
	}
}

// due drops the waiting events of threads that ended more than linger ago.
func (e *endings) due(now event.Time) {
	n := 0
	for ; n < len(e.queue) && e.queue[n].at+linger <= now; n++ {
		if x := e.queue[n]; e.at[x.tid] == x.at {
			delete(e.at, x.tid)
			e.drop(x.tid)
		}
	}
	if n > 0 {
		e.queue = e.queue[:copy(e.queue, e.queue[n:])]
	}
}

func (j *Join) forget(tid int64) {
	if row := j.rows.ints.Find(tid); row >= 0 && j.rows.at[row] >= 0 {
		j.tally.stats.Orphaned++
		j.discard(j.rows.at[row], Exit, j.clock.now)
	}
}

func (n *Nested) forget(tid int64) {
	row := n.rows.ints.Find(tid)
	for row >= 0 && n.rows.at[row] >= 0 {
		n.tally.stats.Orphaned++
		n.remove(n.rows.at[row], Exit, n.clock.now)
	}
}
