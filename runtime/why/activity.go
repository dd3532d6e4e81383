package why

// This file is about what threads do: the list of each has it after every event of its own.
//
// Of what begins and ends, a system call, a page fault, a lock, one of the two events may not
// have been seen although no loss is known. The next event shows that: two begins follow each
// other, or two ends. Between them nobody knows what the thread did; it is unsure.

// unsure is, of a doing, that it began or ended unseen.
const unsure = -2

// addOwn adds an activity of the thread itself, and updates the state of the thread.
func (x *index) addOwn(tid int32, n int32) {
	if tid <= 0 {
		return
	}
	t, r := x.thread(tid), &x.recs[n]
	t.heard = t.heard || r.tid == tid
	e := entry{at: r.at, rec: n}
	if last := t.lastDid(); last < 0 || x.hidden(t, last, r) {
		e.first = true
		t.now, t.era, t.faults, t.locks = nothing, len(t.list), false, false
	}
	if r.kind == kFault && r.b == 1 && t.now.sys >= 0 && x.recs[t.now.sys].kind == kEnter {
		r.kind = kFaultIn
	}
	switch r.kind {
	case kSwitch:
		// Threads sleep and end in calls, unless a fault makes them sleep or a signal ends them.
		if r.tid == tid && r.a&(asleep|dead) != 0 && t.now.fault < 0 {
			t.unseenCall(x.recs, r)
		}
	case kEnter, kExit:
		t.unseenCall(x.recs, r)
		t.unseenEnds(x)
		if t.now.sys == nothing.sys { // since the loss nothing told: now it is known what was before
			sys := n
			if r.kind == kEnter && t.wasInside(x.recs) {
				sys = unsure // it was in a call, whose end was not seen
			}
			for i := t.era; i < len(t.list); i++ {
				t.list[i].now.sys = sys
			}
		}
		t.now, t.syscalls, t.faults, t.locks = doing{n, -1, -1, -1}, true, true, true
	case kFault:
		t.unseenCall(x.recs, r)
		t.unseenEnds(x)
		t.now.fault, t.now.lock, t.faults = n, -1, true
	case kFaultIn:
		t.unseenEnds(x)
		t.now.fault, t.faults = n, true
	case kFaultDone:
		switch {
		case !t.faults: // it began before
			for i := t.era; i < len(t.list); i++ {
				t.list[i].now.fault = n
			}
		case t.now.fault < 0 && t.seesFaults(x):
			t.unseenFault(x.recs)
		}
		t.now.fault, t.faults = -1, true
	case kWork:
		t.now.work = n
	case kWorkDone:
		t.now.work = -1
	case kLock:
		if l := t.now.lock; l >= 0 {
			switch {
			case x.recs[l].a == r.a && x.recs[l].b != r.b:
				l = x.recs[l].ref // it begins anew, now to sleep
			case x.recs[l].a == r.a, r.b&lockSpin == 0 || r.b&lockMutex != 0:
				t.unlocked(x.recs, l) // while it waits for one it takes those that spin, and no others
				l = -1
			}
			r.ref = l
		}
		t.now.lock, t.locks = n, true
	case kLockDone:
		switch l := t.lockOf(x.recs, r); {
		case l >= 0:
			t.now.lock = x.recs[l].ref
		case t.locks:
			t.unseenLock(x.recs)
		default:
			t.locks = true
			for i := t.era; i < len(t.list); i++ {
				t.list[i].now.lock = n
			}
		}
	}
	e.now = t.now
	t.list = append(t.list, e)
}

// lastDid is the newest entry of what the thread did itself.
func (t *thread) lastDid() int {
	i := len(t.list) - 1
	for i >= 0 && t.list[i].other {
		i--
	}
	return i
}

// unseenCall notes that the end of a thread's system call was not seen, or its begin, if record
// r, which is its next event of that kind or of its program, tells so.
func (t *thread) unseenCall(recs []record, r *record) {
	if t.now.sys < 0 {
		return
	}
	p := &recs[t.now.sys]
	in := p.kind == kEnter
	switch {
	case r.kind == kExit && in && (p.name == r.name || r.a == noCall):
		return
	case r.kind == kSwitch && in, r.kind != kExit && r.kind != kSwitch && !in:
		return
	}
	for i := t.since(t.now.sys); i < len(t.list); i++ {
		t.list[i].now.sys = unsure
	}
	switch r.kind {
	case kFault:
		t.now.sys = int32(len(recs)) - 1 // no call goes on in the program
	case kSwitch:
		t.now.sys = unsure
	}
}

// wasInside reports that a thread, of whose system calls nothing is known since a loss, did what it does
// in one only: it slept, or took a lock of the kernel, and that for no page fault.
func (t *thread) wasInside(recs []record) bool {
	for i := t.era; i < len(t.list); i++ {
		e := &t.list[i]
		if e.other || e.now.fault >= 0 {
			continue
		}
		switch r := &recs[e.rec]; r.kind {
		case kSwitch:
			if r.tid == t.tid && !r.runnable() {
				return true
			}
		case kLock, kLockDone, kFaultIn:
			return true
		}
	}
	return false
}

// States of threads that sleep, and of those that have ended: must match TASK_INTERRUPTIBLE,
// TASK_UNINTERRUPTIBLE, EXIT_DEAD and EXIT_ZOMBIE in include/linux/sched.h.
const (
	asleep = 0x03
	dead   = 0x30
)

// noCall is the number that the end of sigreturn has.
const noCall = 1<<64 - 1

// unseenEnds notes that what lasts no longer than until the thread's next system call, or fault
// of its program, has ended unseen.
func (t *thread) unseenEnds(x *index) {
	if f := t.now.fault; f >= 0 && x.observed[kFaultDone] {
		for i := t.since(f); i < len(t.list); i++ {
			t.list[i].now.fault = unsure
		}
	}
	if t.now.lock >= 0 {
		t.unlocked(x.recs, t.now.lock)
	}
}

// unlocked notes that a thread got a lock, and those that are held around it, when nobody saw it.
func (t *thread) unlocked(recs []record, lock int32) {
	for recs[lock].ref >= 0 {
		lock = recs[lock].ref
	}
	for i := t.since(lock); i < len(t.list); i++ {
		t.list[i].now.lock = unsure
	}
}

// seesFaults reports that the begins of faults are seen.
func (t *thread) seesFaults(x *index) bool {
	if s := t.now.sys; s >= 0 && x.recs[s].kind != kEnter {
		return x.observed[kFault]
	}
	return x.observed[kFault] && x.observed[kFaultIn]
}

// unseenFault notes that a fault of a thread began unseen, since its last event that tells of none.
func (t *thread) unseenFault(recs []record) {
	for i := len(t.list) - 1; i >= t.era; i-- {
		t.list[i].now.fault = unsure
		switch recs[t.list[i].rec].kind {
		case kEnter, kExit, kFaultDone:
			return
		}
	}
}

// unseenLock is the same for a lock.
func (t *thread) unseenLock(recs []record) {
	for i := len(t.list) - 1; i >= t.era; i-- {
		t.list[i].now.lock = unsure
		switch recs[t.list[i].rec].kind {
		case kEnter, kExit, kFault, kLock, kLockDone:
			return
		}
	}
}

// lockOf is the lock that record r says that a thread has got; -1 is one whose begin was not seen.
func (t *thread) lockOf(recs []record, r *record) int32 {
	for l := t.now.lock; l >= 0; l = recs[l].ref {
		if recs[l].a != r.a {
			continue
		}
		if l != t.now.lock { // those within it ended unseen
			for i := t.since(l); i < len(t.list); i++ {
				if t.list[i].now.lock != l {
					t.list[i].now.lock = unsure
				}
			}
		}
		return l
	}
	return -1
}

// since is the position of the first entry of a record or a later one.
func (t *thread) since(rec int32) int {
	i := len(t.list)
	for i > 0 && t.list[i-1].rec >= rec {
		i--
	}
	return i
}
