package why

// This file tracks the activity of threads: the system call, page fault or lock that a
// thread is in. Each entry in a thread's list has the activity after the entry's event.
//
// An activity has a begin and an end event. One of them may be missing although no loss is
// known. A later event shows that: two begins without an end between them, or two ends
// without a begin. In the time between, the activity is unknown, which is marked as unsure.

// unsure in a member of doing means that the begin or the end of the activity
// was not observed.
const unsure = -2

// addOwn adds record n as an event of the thread itself, and updates its activity.
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
		// A thread that sleeps or ends is in a system call, unless it sleeps in a fault or a
		// signal ends it.
		if r.tid == tid && r.a&(asleep|dead) != 0 && t.now.fault < 0 {
			t.unseenCall(x.recs, r)
		}
	case kEnter, kExit:
		t.unseenCall(x.recs, r)
		t.unseenEnds(x)
		if t.now.sys == nothing.sys { // the first system call since the loss shows the activity before it
			sys := n
			if r.kind == kEnter && t.wasInside(x.recs) {
				sys = unsure // it was in a call whose end was not observed
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
		case !t.faults: // the fault began before the era
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
				l = x.recs[l].ref // the same lock, which the thread now sleeps for
			case x.recs[l].a == r.a, r.b&lockSpin == 0 || r.b&lockMutex != 0:
				t.unlocked(x.recs, l) // within a wait for a lock, a thread waits only for spinlocks
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

// lastDid returns the position of the newest entry of the thread's own events;
// -1 if there is none.
func (t *thread) lastDid() int {
	i := len(t.list) - 1
	for i >= 0 && t.list[i].other {
		i--
	}
	return i
}

// unseenCall marks the thread's system call as unsure if record r shows that its end, or the
// begin of another call, was not observed. r is the thread's next event of a call, or of its
// program.
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
		t.now.sys = int32(len(recs)) - 1 // a fault of the program is outside of calls
	case kSwitch:
		t.now.sys = unsure
	}
}

// wasInside reports whether a thread, whose system calls are unknown since a loss, must have been
// in one: it slept or took a lock of the kernel, and not for a page fault.
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

// Bits of prev_state of threads that sleep, and of threads that have ended: must match
// TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, EXIT_DEAD and EXIT_ZOMBIE in
// include/linux/sched.h.
const (
	asleep = 0x03
	dead   = 0x30
)

// noCall is the number of the system call in the exit event of sigreturn.
const noCall = 1<<64 - 1

// unseenEnds marks page faults and locks as unsure whose end was not observed. They end before
// the thread's next system call or fault of its program.
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

// unlocked marks a wait for a lock, and the waits around it, as unsure, since their ends were not
// observed.
func (t *thread) unlocked(recs []record, lock int32) {
	for recs[lock].ref >= 0 {
		lock = recs[lock].ref
	}
	for i := t.since(lock); i < len(t.list); i++ {
		t.list[i].now.lock = unsure
	}
}

// seesFaults reports whether the begins of the thread's faults are observed.
func (t *thread) seesFaults(x *index) bool {
	if s := t.now.sys; s >= 0 && x.recs[s].kind != kEnter {
		return x.observed[kFault]
	}
	return x.observed[kFault] && x.observed[kFaultIn]
}

// unseenFault marks that the begin of a fault was not observed: the fault is unsure since the last
// event that excludes a fault.
func (t *thread) unseenFault(recs []record) {
	for i := len(t.list) - 1; i >= t.era; i-- {
		t.list[i].now.fault = unsure
		switch recs[t.list[i].rec].kind {
		case kEnter, kExit, kFaultDone:
			return
		}
	}
}

// unseenLock does the same for a lock.
func (t *thread) unseenLock(recs []record) {
	for i := len(t.list) - 1; i >= t.era; i-- {
		t.list[i].now.lock = unsure
		switch recs[t.list[i].rec].kind {
		case kEnter, kExit, kFault, kLock, kLockDone:
			return
		}
	}
}

// lockOf returns the record that began the wait for the lock which record r ends; -1 if that was
// not observed.
func (t *thread) lockOf(recs []record, r *record) int32 {
	for l := t.now.lock; l >= 0; l = recs[l].ref {
		if recs[l].a != r.a {
			continue
		}
		if l != t.now.lock { // the ends of the waits within it were not observed
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

// since returns the position of the first entry whose record is rec or later.
func (t *thread) since(rec int32) int {
	i := len(t.list)
	for i > 0 && t.list[i-1].rec >= rec {
		i--
	}
	return i
}
