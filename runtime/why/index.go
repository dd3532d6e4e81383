package why

import (
	"strconv"

	"ppscript/runtime/event"
)

// This file keeps the records of events, and lists of them for each thread and each
// CPU.
//
// A thread has a list of entries: its own events, which prove that it had its CPU then, and events
// that others caused for it: wake-ups and moves to other CPUs. Each entry has the activity of the
// thread after it: its system call, page fault, lock. A CPU has a list of turns: the threads that
// got it, and its interrupts. Each turn has the thread on the CPU after it, and the interrupt that
// is being served. Both lists are sorted by time, so that the walk reads only the relevant entries.
//
// After a loss the activity of a thread is unknown until its next event shows it: the
// end of a system call means that the thread was in that call since the loss. The
// entries since the loss, which are called an era of the thread, are then completed.

// index has the records of an Explainer.
type index struct {
	recs     []record
	threads  map[int32]*thread
	cpus     []cpu
	since    event.Time
	newest   event.Time
	why      string // why events before since are unknown
	gaps     gaps
	flying   map[request]int32 // the last record of each current disk request
	limits   []int32           // records of throttling by quotas, in order
	observed [kEnd + 1]bool    // by kind: whether it is observed
	// allCalls says that all system calls are observed, not only some.
	allCalls bool
	// otherIDs says that tids in samples are from another PID namespace than tids in
	// tracepoints' fields.
	otherIDs bool
}

type request struct{ dev, sector uint64 }

// A thread is the state of a thread. Indexes in recs are int32, since Config.Records is
// less.
type thread struct {
	tid, pid int32
	name     uint32
	list     []entry
	now      doing
	era      int // position of the first entry since the last loss
	syscalls bool
	born     bool
	// The era has an event of a fault, or of a lock.
	faults, locks bool
	heard         bool // an own event of it was observed
	checked       bool // Config.Task was called for it
	member
}

// doing is the activity of a thread, as the records that began it; -1 is none, and -2 is unsure. If
// sys is a record after the time in question, it shows the state before it: see (index).call.
type doing struct {
	sys, fault, lock int32
	work             int32 // work of a kernel thread
}

var nothing = doing{-1, -1, -1, -1}

type entry struct {
	at  event.Time
	rec int32
	now doing // activity after it
	// other marks events that others caused for the thread.
	other bool
	// first marks the first entry after a loss that may hide activity of the
	// thread.
	first bool
}

// A cpu is the state of a CPU.
type cpu struct {
	list      []turn
	cur       int32 // the thread that has it; -1 if unknown
	open      []int32
	completed int32      // the last request that the current interrupt completed
	rx        int32      // the last packet from this machine to itself that waits for its softirq
	gapTo     event.Time // the end of the current gap; 0 if there is none
	limit     int32      // the record since which its quota is used up; -1 if it is not
	at        event.Time // time of the newest event
	// doubts are wake-ups since a loss that may have happened in an interrupt whose begin
	// was lost. plain says that an event has excluded that.
	doubts []int32
	plain  bool
	hard   bool // no such hard interrupt is being served, but perhaps a softirq
	// The times of the newest events that show whether an interrupt, or a softirq, is being
	// served.
	sure, sureSoft event.Time
}

// A turn is a period of a CPU with one state. It lasts until the next turn in
// the list.
type turn struct {
	at   event.Time
	rec  int32
	cur  int32 // the thread that has the CPU; -1 if unknown
	top  int32 // the record of the interrupt that is being served; -1 if none
	kind kind
	// doubt says that an interrupt whose begin was lost may be being served.
	doubt bool
}

const maxCPUs = 1 << 13

// newCPU returns a CPU in unknown state, which reuses these slices.
func newCPU(list []turn, open, doubts []int32) cpu {
	return cpu{list: list, open: open, doubts: doubts, cur: -1, completed: -1, rx: -1, limit: -1}
}

func (x *index) init() {
	x.threads = map[int32]*thread{}
	x.flying = map[request]int32{}
	x.reset(0)
}

// reset forgets everything.
func (x *index) reset(since event.Time) {
	x.recs = x.recs[:0]
	if len(x.threads) > 1<<14 {
		clear(x.threads)
	}
	for _, t := range x.threads {
		*t = thread{tid: t.tid, pid: t.pid, name: t.name, list: t.list[:0], now: nothing}
	}
	for i := range x.cpus {
		c := &x.cpus[i]
		*c = newCPU(c.list[:0], c.open[:0], c.doubts[:0])
	}
	clear(x.flying)
	x.gaps, x.limits = gaps{list: x.gaps.list[:0]}, x.limits[:0]
	x.newest = never
	x.since, x.why = since, beforeHistory
}

const beforeHistory = "it began before the events that were kept"

func (x *index) thread(tid int32) *thread {
	t := x.threads[tid]
	if t == nil {
		t = &thread{tid: tid, now: nothing}
		x.threads[tid] = t
	}
	return t
}

// cpuOf returns a CPU, and ends its gap if that is over at t; nil if n is no
// CPU.
func (x *index) cpuOf(n int32, t event.Time) *cpu {
	if n < 0 || n >= maxCPUs {
		return nil
	}
	for int(n) >= len(x.cpus) {
		x.cpus = append(x.cpus, newCPU(nil, nil, nil))
	}
	c := &x.cpus[n]
	if len(c.list) == 0 {
		c.plain = x.since == 0
		c.turn(turn{at: min(x.since, t), rec: -1, cur: -1, top: -1, kind: kEnd, doubt: !c.plain})
	}
	if c.gapTo != 0 && t >= c.gapTo {
		c.turn(turn{at: c.gapTo, rec: -1, cur: -1, top: -1, kind: kEnd, doubt: true})
		c.gapTo = 0
	}
	return c
}

func (c *cpu) turn(t turn) {
	if n := len(c.list); n > 0 && c.list[n-1].doubt && !c.plain && t.kind != kGap {
		t.doubt = true
	}
	c.list = append(c.list, t)
}

func (c *cpu) top() int32 {
	if n := len(c.open); n > 0 {
		return c.open[n-1]
	}
	return -1
}

// put adds a record.
//
// Fast path: for every event.
func (x *index) put(r record) {
	n := int32(len(x.recs))
	c := x.cpuOf(r.cpu, r.at)
	if c == nil {
		return
	}
	supposed := r.kind == kFaultDone && c.cur > 0 && (x.otherIDs || r.tid <= 0)
	if supposed {
		r.tid = c.cur // its sample has only the tid in our PID namespace
	}
	if r.at < x.newest {
		r.at = x.newest // it was written late because of an interrupt; lists must stay sorted
	}
	if c.gapTo == 0 && c.cur >= 0 && r.tid >= 0 && c.cur != r.tid {
		if x.again(c, &r) {
			return
		}
		n = x.unseenSwitch(c, n, &r)
	}
	if c.gapTo == 0 && len(c.open) > 0 && r.outside() {
		c.unseenEnd(x.recs, 0, &r)
	}
	if c.gapTo == 0 {
		if !c.plain && r.ofThread() {
			c.isPlain(x.recs)
		}
		n = x.hasCPU(c, n, &r)
	}
	x.recs = append(x.recs, r)
	x.newest = r.at
	if !supposed {
		c.at = r.at
	}
	if c.gapTo != 0 {
		x.putInGap(n, &r)
		return
	}
	switch r.kind {
	case kSwitch:
		x.addOwn(r.tid, n)
		x.addOwn(r.other, n)
		c.cur, c.completed, c.rx = r.other, -1, -1
		c.turn(turn{at: r.at, rec: n, cur: r.other, top: c.top(), kind: kSwitch})
	case kWaking, kWakeup, kBorn:
		x.wakes(c, n, &r)
	case kMigrate:
		x.addReceived(r.other, n)
	case kEnter, kExit, kFault, kFaultIn, kFaultDone, kLock, kLockDone, kWork, kWorkDone:
		if len(c.open) == 0 { // an event in an interrupt is not the thread's
			x.addOwn(r.tid, n)
		}
	case kIRQ, kSoftirq, kVector:
		c.interruptBegins(x.recs, n, &r)
	case kIRQDone, kSoftirqDone, kVectorDone:
		c.interruptDone(x.recs, n, &r)
	case kInsert, kIssue, kComplete:
		x.disk(c, n, &r)
	case kRx:
		if len(c.open) == 0 && r.tid > 0 {
			c.rx = n
		}
	case kThrottle:
		x.limits = append(x.limits, n)
		c.limit = n
		x.addOwn(r.tid, n)
	case kUnthrottle:
		x.limits = append(x.limits, n)
	}
	c.surely(&r)
}

// putInGap adds a record within a gap. It shows the activity of its thread, but not the
// state of the CPU.
func (x *index) putInGap(n int32, r *record) {
	switch r.kind {
	case kSwitch:
		x.addOwn(r.tid, n)
		x.addOwn(r.other, n)
	case kWaking, kBorn, kMigrate:
		x.recs[n].top = n // means that the interrupt is unknown
		x.addReceived(r.other, n)
	case kEnter, kExit, kFault, kFaultIn, kFaultDone:
		x.addOwn(r.tid, n)
	}
}

// hasCPU sets the thread that has a CPU to the thread of record r, before r is added as
// number n. It returns the number for r, which is larger if a record was added.
func (x *index) hasCPU(c *cpu, n int32, r *record) int32 {
	if r.tid < 0 || c.cur == r.tid {
		return n
	}
	// After a loss, the time since which the thread has the CPU is unknown: kernels that do not
	// report all switches may not report the first one after a loss either.
	switch {
	case c.cur >= 0:
	case len(c.list) == 1 && x.since == 0:
		c.list[0].cur = r.tid // it had the CPU from the begin
	default:
		c.turn(turn{at: r.at, rec: -1, cur: r.tid, top: c.top(), kind: kOn})
	}
	c.cur = r.tid
	if r.kind == kSwitch || r.tid == 0 {
		return n
	}
	on := *r
	on.kind, on.stack, on.ref, on.top = kOn, 0, -1, -1
	x.recs = append(x.recs, on)
	x.addOwn(r.tid, n)
	return n + 1
}

// wakes adds a wake-up to the list of the woken thread.
func (x *index) wakes(c *cpu, n int32, r *record) {
	if r.kind == kWakeup && x.observed[kWaking] {
		return
	}
	p := &x.recs[n]
	p.top = c.top()
	if p.top < 0 && !c.plain && !r.tells {
		p.top = n // unknown so far
		c.doubts = append(c.doubts, n)
	}
	switch {
	case p.top >= 0 && c.completed >= 0:
		p.ref = c.completed
	case p.top >= 0 && p.top != n && x.recs[p.top].kind == kSoftirq && x.recs[p.top].a == softNetRx:
		p.ref = c.rx
	}
	if r.kind == kBorn {
		x.thread(r.other).born = true
	}
	x.addReceived(r.other, n)
}

// addReceived adds an event that another thread or an interrupt caused for a
// thread.
func (x *index) addReceived(tid int32, n int32) {
	if tid > 0 {
		t := x.thread(tid)
		t.list = append(t.list, entry{at: x.recs[n].at, rec: n, now: t.now, other: true})
	}
}

// disk links the records of a disk request.
func (x *index) disk(c *cpu, n int32, r *record) {
	key := request{r.a, r.b}
	p, ok := x.flying[key]
	if !ok || x.recs[p].kind == kIssue && r.kind == kInsert {
		p = -1
	}
	if r.kind == kIssue && p >= 0 && x.recs[p].kind == kIssue {
		p = x.recs[p].ref // issued again
	}
	x.recs[n].ref = p
	if r.kind == kComplete {
		delete(x.flying, key)
		c.completed = n
		return
	}
	if len(x.flying) >= maxFlying {
		clear(x.flying)
	}
	x.flying[key] = n
}

const maxFlying = 1 << 16

// Lost adds a loss. Calls of Lost, by From, and of Add must be in time order.
func (x *index) Lost(g Gap) {
	if g.To < g.From {
		g.From, g.To = g.To, g.From
	}
	x.gaps.add(g)
	if g.CPU >= 0 {
		x.gapOn(g.CPU, g)
		return
	}
	for i := range x.cpus {
		x.gapOn(int32(i), g)
	}
}

func (x *index) gapOn(n int32, g Gap) {
	c := x.cpuOf(n, g.From)
	if c == nil {
		return
	}
	if c.gapTo == 0 {
		c.turn(turn{at: max(g.From, c.list[len(c.list)-1].at), rec: -1, cur: -1, top: -1, kind: kGap})
	}
	c.gapTo = max(c.gapTo, g.To, 1)
	c.cur, c.completed, c.rx, c.limit, c.open = -1, -1, -1, -1, c.open[:0]
	c.plain, c.hard, c.doubts = false, false, c.doubts[:0]
}

// lostRecord adds the loss that a LOST record of the kernel reports.
func (x *index) lostRecord(e *event.Event) {
	g := Gap{CPU: e.CPU, From: e.LossBegin(), To: e.LossEnd()}
	if g.To == 0 {
		g.To = e.Time
	}
	g.To = max(g.To, e.Time)
	if g.From == 0 {
		g.From = e.Time
		if e.CPU >= 0 && int(e.CPU) < len(x.cpus) {
			g.From = min(g.From, x.cpus[e.CPU].at)
		}
	}
	if e.Count > 0 {
		g.Reason = strconv.Itoa(int(e.Count)) + " events of CPU " + strconv.Itoa(int(e.CPU)) + " were lost"
	}
	x.Lost(g)
}
