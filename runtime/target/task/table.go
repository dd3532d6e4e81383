package task

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// Options of a Table. The zero value is for a live run.
type Options struct {
	// NoProc says not to read /proc: the threads of a recording are not threads
	// of this machine.
	NoProc bool
	// Proc is the root to read, "/proc" if empty.
	Proc string
	// MaxDead is the number of ended threads that keep their names, for events
	// from before or shortly after the end; 0 means 4096.
	MaxDead int
	// MaxThreads bounds all threads, including threads whose end was not
	// reported; 0 means 65536. Beyond it, threads that were not asked for
	// recently are dropped.
	MaxThreads int
}

// Stats counts the work of a Table.
type Stats struct {
	Threads   int    // threads with a name now
	Evicted   uint64 // names dropped since a bound was reached
	ProcReads uint64 // files of /proc that were read
}

// A Table holds the names of threads. It is used by one goroutine.
//
// If records come in time order, the name is the name at the time of the event.
// If rings are read one after another, that holds for the last renaming of a
// thread only.
type Table struct {
	opt        Options
	index      map[int32]int32 // tid to slot
	slots      []thread
	free       []int32
	dead       []endedThread // a ring of MaxDead, the oldest at deadAt
	deadAt     int
	hand       int // hand of the eviction clock (a second-chance queue)
	idle       []string
	schemas    map[*event.Schema]*commFields
	schema     *event.Schema // the schema that lastSchema describes
	lastSchema *commFields
	stats      Stats
}

// A thread is the entry of one thread.
type thread struct {
	name   string
	before string     // the name until since; empty if there was none
	since  event.Time // of name
	tid    int32
	gen    uint32 // incremented when the slot gets another thread
	state  state
	used   bool // asked for since the hand passed
}

type state uint8

const (
	unused  state = iota
	guessed       // "pid-N"
	alive
	gone
)

// An endedThread refers to a slot as long as it holds the same thread.
type endedThread struct {
	slot int32
	gen  uint32
}

// New makes an empty Table.
func New(o Options) *Table {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.MaxDead <= 0 {
		o.MaxDead = 4096
	}
	if o.MaxThreads <= 0 {
		o.MaxThreads = 65536
	}
	return &Table{opt: o, index: make(map[int32]int32), schemas: make(map[*event.Schema]*commFields)}
}

// Stats returns the counts so far.
func (t *Table) Stats() Stats {
	t.stats.Threads = len(t.index)
	return t.stats
}

// Comm is the newest recorded name of a thread.
func (t *Table) Comm(tid int32) string { return t.at(tid, event.MaxTime) }

// Of returns the name that the thread of e had at the time of e; the idle task
// has a name per CPU. It also records the names in e's fields.
//
// Fast path: nothing is allocated for a thread that is known.
func (t *Table) Of(e *event.Event) string {
	t.observe(e)
	if e.TID == 0 && e.CPU >= 0 {
		return t.swapper(e.CPU)
	}
	return t.at(e.TID, e.Time)
}

func (t *Table) at(tid int32, when event.Time) string {
	slot, ok := t.index[tid]
	if !ok {
		return t.lookUp(tid)
	}
	th := &t.slots[slot]
	th.used = true
	if when < th.since && th.before != "" {
		return th.before
	}
	return th.name
}

// Record applies a comm, fork or exit record and ignores others.
func (t *Table) Record(e *event.Event) {
	switch e.Kind {
	case event.Comm:
		if c, ok := perf.DecodeComm(e); ok {
			t.rename(c.TID, c.Name, e.Time)
		}
	case event.Fork:
		if f, ok := perf.DecodeFork(e); ok {
			t.fork(f.TID, f.PTID, f.Time)
		}
	case event.Exit:
		if x, ok := perf.DecodeExit(e); ok {
			t.exit(x.TID)
		}
	}
}

// rename records that the thread is called name from when on. A renaming older
// than the recorded one sets the name before it.
func (t *Table) rename(tid int32, name string, when event.Time) {
	if tid <= 0 {
		return
	}
	th := t.slot(tid)
	switch {
	case when < th.since && th.state != guessed:
		th.before = name
		return
	case th.state == guessed:
		th.before = ""
	case name != th.name:
		th.before = th.name
	}
	th.name, th.since = name, when
	th.revive()
}

// fork records that parent created tid, which has the parent's name at first.
// If the parent's name is unknown, the child's is read from /proc later.
func (t *Table) fork(tid, parent int32, when event.Time) {
	if tid <= 0 {
		return
	}
	name := t.at(parent, when)
	if p, ok := t.index[parent]; !ok || t.slots[p].state == guessed {
		t.forget(tid)
		return
	}
	th := t.slot(tid)
	if th.state == gone || th.state == alive {
		th.before = th.name // name of the previous thread with this number
	}
	th.name, th.since = name, when
	// The number is in use again, so an entry in dead no longer counts.
	th.gen++
	th.state = alive
}

// exit records that the thread ended. Its name is kept until MaxDead others
// have ended.
func (t *Table) exit(tid int32) {
	slot, ok := t.index[tid]
	if !ok || t.slots[slot].state == gone {
		return
	}
	t.slots[slot].state = gone
	e := endedThread{slot, t.slots[slot].gen}
	if len(t.dead) < t.opt.MaxDead {
		t.dead = append(t.dead, e)
		return
	}
	old := t.dead[t.deadAt]
	t.dead[t.deadAt] = e
	t.deadAt = (t.deadAt + 1) % len(t.dead)
	if th := &t.slots[old.slot]; th.gen == old.gen && th.state == gone {
		t.stats.Evicted++
		t.forget(th.tid)
	}
}

// revive marks a guessed thread as alive. An ended thread stays ended: its last
// name may be reported late.
func (th *thread) revive() {
	if th.state == unused || th.state == guessed {
		th.state = alive
	}
}

// slot finds or makes the slot of a thread. A new one is in state guessed,
// without a name.
func (t *Table) slot(tid int32) *thread {
	if slot, ok := t.index[tid]; ok {
		return &t.slots[slot]
	}
	if len(t.index) >= t.opt.MaxThreads {
		t.evict()
	}
	var slot int32
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	} else {
		slot = int32(len(t.slots))
		t.slots = append(t.slots, thread{})
	}
	th := &t.slots[slot]
	*th = thread{tid: tid, gen: th.gen + 1, state: guessed, used: true}
	t.index[tid] = slot
	return th
}

// evict frees one slot: the first after the hand that was not asked for since
// the hand last passed it.
func (t *Table) evict() {
	for {
		t.hand = (t.hand + 1) % len(t.slots)
		th := &t.slots[t.hand]
		switch {
		case th.state == unused:
		case th.used:
			th.used = false
		default:
			t.stats.Evicted++
			t.forget(th.tid)
			return
		}
	}
}

func (t *Table) forget(tid int32) {
	slot, ok := t.index[tid]
	if !ok {
		return
	}
	delete(t.index, tid)
	t.slots[slot] = thread{gen: t.slots[slot].gen}
	t.free = append(t.free, slot)
}

// swapper is the name of the idle task of a CPU.
func (t *Table) swapper(cpu int32) string {
	if cpu >= 1<<16 {
		return "swapper"
	}
	for int(cpu) >= len(t.idle) {
		t.idle = append(t.idle, "swapper/"+strconv.Itoa(len(t.idle)))
	}
	return t.idle[cpu]
}
