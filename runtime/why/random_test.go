package why_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// This file makes a small machine that does random things which a real one could do, and
// remembers what each thread did when. What is told of its events is compared with that,
// and what is told after losses with what is told without.

type simThread struct {
	task
	cpu     int // where it runs, or waits
	state   byte
	call    string
	uaddr   int
	fault   bool
	lock    int
	request int // that it waits for
	begins  []simState
}

// States of a thread.
const (
	runs   = 'r'
	waits  = 'w' // for a CPU
	blocks = 'b'
)

// A simState is what a thread does from a time on.
type simState struct {
	at   event.Time
	text string
}

type simCPU struct {
	cur  *simThread // nil: idle
	irqs []string
}

type sim struct {
	*rand.Rand
	now     event.Time
	cpus    []simCPU
	threads []*simThread
	evs     []*event.Event
	sector  int
	flying  []*simThread
}

var simCalls = []string{"read", "write", "futex", "recvfrom", "pread64", "getpid", "wait4"}

func newSim(seed uint64, cpus, threads int) *sim {
	s := &sim{Rand: rand.New(rand.NewPCG(seed, 7)), now: 1000, cpus: make([]simCPU, cpus)}
	for i := range threads {
		name := fmt.Sprintf("t%d", i)
		t := &simThread{task: task{name, int32(100 + i/2*2), int32(100 + i)}, state: blocks, call: "read"}
		s.threads = append(s.threads, t)
	}
	return s
}

func (s *sim) story() *story {
	st := &story{tasks: map[string]task{}, evs: s.evs}
	for _, t := range s.threads {
		st.tasks[t.name] = t.task
	}
	return st
}

// happen adds an event of a CPU.
func (s *sim) happen(cpu int, name string, values ...any) {
	var k task
	if t := s.cpus[cpu].cur; t != nil {
		k = t.task
	}
	s.evs = append(s.evs, occur(name, s.now, int32(cpu), k.pid, k.tid, values...))
	for _, t := range s.threads {
		if text := s.doing(t); len(t.begins) == 0 || t.begins[len(t.begins)-1].text != text {
			t.begins = append(t.begins, simState{s.now, text})
		}
	}
}

// doing says what a thread does, as the first link of a part would.
func (s *sim) doing(t *simThread) string {
	c := &s.cpus[t.cpu]
	if t.state == blocks {
		return "blocked"
	}
	if len(c.irqs) > 0 {
		return "stolen"
	}
	if t.state == waits {
		if c.cur == nil {
			return result.WhyIdle.String()
		}
		return fmt.Sprintf("%s %d", result.WhyBehind, c.cur.tid)
	}
	switch {
	case t.lock != 0:
		return result.WhyLock.String()
	case t.fault:
		return result.WhyFault.String()
	case t.call != "":
		return result.WhySyscall.String() + " " + t.call
	}
	return result.WhyUser.String()
}

// activityText describes the activity of a part.
func activityText(p *result.WhyPart) string {
	l := &p.Path[0]
	switch l.Kind {
	case result.WhyIRQ, result.WhySoftirq:
		return "stolen"
	case result.WhyBehind:
		return fmt.Sprintf("%s %d", l.Kind, l.Whom.TID)
	case result.WhySyscall:
		return l.Kind.String() + " " + l.What
	case result.WhyFutex, result.WhyDisk, result.WhyNetwork, result.WhyTimer, result.WhyThread,
		result.WhyBlocked:
		return "blocked"
	case result.WhyLock:
		if l.Whom.TID != 0 {
			return "blocked"
		}
	}
	return l.Kind.String()
}

// step does one thing on one CPU.
func (s *sim) step() {
	s.now += event.Time(1 + s.IntN(2000))
	n := s.IntN(len(s.cpus))
	c := &s.cpus[n]
	switch {
	case len(c.irqs) > 0:
		s.inInterrupt(n, c)
	case s.IntN(10) == 0:
		s.interrupt(n, c)
	case c.cur == nil:
		s.next(n, c, 0)
	default:
		s.work(n, c, c.cur)
	}
}

func (s *sim) interrupt(n int, c *simCPU) {
	kind := []string{"irq", "net", "block", "timer"}[s.IntN(4)]
	c.irqs = append(c.irqs, kind)
	switch kind {
	case "irq":
		s.happen(n, "irq:irq_handler_entry", 7, "eth0")
	case "net":
		s.happen(n, "irq:softirq_entry", 3)
	case "block":
		s.happen(n, "irq:softirq_entry", 4)
	case "timer":
		s.happen(n, "irq_vectors:local_timer_entry", 236)
	}
}

func (s *sim) inInterrupt(n int, c *simCPU) {
	top := c.irqs[len(c.irqs)-1]
	if s.IntN(5) == 0 && len(c.irqs) < 2 && (top == "net" || top == "block") {
		c.irqs = append(c.irqs, "timer")
		s.happen(n, "irq_vectors:local_timer_entry", 236)
		return
	}
	if s.IntN(2) == 0 {
		if top == "block" && len(s.flying) > 0 {
			t := s.flying[0]
			s.flying = s.flying[1:]
			s.happen(n, "block:block_rq_complete", 254<<20, t.request, "R")
			s.now++
			t.request = 0
			s.wake(n, t)
			return
		}
		if t := s.sleeper(); t != nil && !slices.Contains(c.irqs, "block") {
			s.wake(n, t)
			return
		}
	}
	c.irqs = c.irqs[:len(c.irqs)-1]
	switch top {
	case "irq":
		s.happen(n, "irq:irq_handler_exit", 7, 1)
	case "net":
		s.happen(n, "irq:softirq_exit", 3)
	case "block":
		s.happen(n, "irq:softirq_exit", 4)
	case "timer":
		s.happen(n, "irq_vectors:local_timer_exit", 236)
	}
}

// sleeper is a thread that anybody may wake.
func (s *sim) sleeper() *simThread {
	for _, i := range s.Perm(len(s.threads)) {
		if t := s.threads[i]; t.state == blocks && t.request == 0 {
			return t
		}
	}
	return nil
}

func (s *sim) wake(n int, t *simThread) {
	t.state = waits
	s.happen(n, "sched:sched_waking", t.name, int(t.tid), t.cpu)
	if s.IntN(3) == 0 {
		s.now++
		s.move(n, t)
	}
}

func (s *sim) move(n int, t *simThread) {
	to := s.IntN(len(s.cpus))
	from := t.cpu
	if to != from {
		t.cpu = to
		s.happen(n, "sched:sched_migrate_task", t.name, int(t.tid), from, to)
	}
}

// next gives a CPU to another thread, or to none.
func (s *sim) next(n int, c *simCPU, state int) {
	prev := c.cur
	var to *simThread
	for _, i := range s.Perm(len(s.threads)) {
		if t := s.threads[i]; t.state == waits && t.cpu == n && t != prev {
			to = t
		}
	}
	if to == nil && (prev == nil || state == 0) {
		return // nobody else, or it goes on
	}
	pid, name := 0, "swapper"
	if prev != nil {
		pid, name = int(prev.tid), prev.name
		prev.state = blocks
		if state == 0 {
			prev.state = waits
		}
	}
	next, nextName := 0, "swapper"
	if to != nil {
		next, nextName = int(to.tid), to.name
		to.state = runs
	}
	// The event is of the thread that leaves.
	e := occur("sched:sched_switch", s.now, int32(n), 0, int32(pid), name, pid, state, nextName, next)
	if prev != nil {
		e.PID = prev.pid
	}
	c.cur = to
	s.happen(n, "sched:sched_switch")
	s.evs[len(s.evs)-1] = e
}

func (s *sim) work(n int, c *simCPU, t *simThread) {
	switch k := s.IntN(12); {
	case t.lock != 0:
		if s.IntN(2) == 0 {
			s.next(n, c, 2)
			return
		}
		l := t.lock
		t.lock = 0
		s.happen(n, "lock:contention_end", l, 0)
	case t.fault:
		if s.IntN(3) == 0 {
			s.block(n, c, t)
			return
		}
		t.fault = false
		s.happen(n, "software:minor-faults")
	case k == 0:
		s.next(n, c, 0)
	case t.call == "" && k < 4:
		t.fault = true
		s.happen(n, "exceptions:page_fault_user", 0x1000)
	case t.call == "" && k < 10:
		t.call = simCalls[s.IntN(len(simCalls))]
		t.uaddr = 0x1000 * (1 + s.IntN(3))
		s.enter(n, t)
	case t.call == "" || k == 1:
		if o := s.threads[s.IntN(len(s.threads))]; o.state == waits {
			s.move(n, o)
		}
	case k < 4:
		if o := s.sleeper(); o != nil {
			s.wake(n, o)
		}
	case k < 7:
		s.block(n, c, t)
	case k == 7:
		t.lock = 0xff00 + s.IntN(3)*0x100
		s.happen(n, "lock:contention_begin", t.lock, 32)
	default:
		call := t.call
		t.call = ""
		s.exit(n, call)
	}
}

func (s *sim) enter(n int, t *simThread) {
	args := []uint64{uint64(t.uaddr), uint64(128 + s.IntN(2))}
	s.happen(n, "raw_syscalls:sys_enter", callNumber(t.call), args)
}

func (s *sim) exit(n int, call string) { s.happen(n, "raw_syscalls:sys_exit", callNumber(call), 0) }

// block puts a thread to sleep, for a disk or for somebody.
func (s *sim) block(n int, c *simCPU, t *simThread) {
	if s.IntN(3) == 0 {
		s.sector += 8
		t.request = s.sector
		s.happen(n, "block:block_rq_insert", 254<<20, t.request, "R")
		s.now++
		s.happen(n, "block:block_rq_issue", 254<<20, t.request, "R")
		s.now++
		s.flying = append(s.flying, t)
		s.next(n, c, 2)
		return
	}
	s.next(n, c, 1)
}

// TestRandomMachines compares the first links of all parts with what the machine did.
func TestRandomMachines(t *testing.T) {
	for seed := range uint64(30) {
		s := newSim(seed, 1+int(seed%4), 3+int(seed%7))
		for range 1500 {
			s.step()
		}
		h := s.story()
		x := why.New(h.config())
		for _, th := range s.threads {
			// From a time on at which everything is known of it.
			if len(th.begins) < 20 {
				continue
			}
			from, to := s.evs[len(s.evs)/2].Time, s.now
			span := why.Span{From: from, To: to, TID: th.tid, PID: th.pid}
			got := x.Explain(span, why.History{Events: h.events()})
			whole(t, got)
			for i := range got.Parts {
				p := &got.Parts[i]
				is := activityText(p)
				if is == result.WhyCPU.String() ||
					is == result.WhyUnknown.String() && strings.Contains(p.Path[0].What, "began before") {
					continue
				}
				k, _ := slices.BinarySearchFunc(th.begins, p.From+1, func(b simState, at event.Time) int {
					return int(b.at - at)
				})
				if want := th.begins[k-1].text; is != want && !(is == "blocked" && want == "blocked") {
					t.Fatalf("seed %d, %s at %d: got %s %v, want %s\n%s",
						seed, th.name, p.From, is, p.Path, want, historyOf(s.evs, p.From-20000, p.To+2000))
				}
			}
		}
	}
}

func historyOf(evs []*event.Event, from, to event.Time) string {
	var b strings.Builder
	for _, e := range evs {
		if e.Time < from || e.Time > to {
			continue
		}
		fmt.Fprintf(&b, "%d cpu %d tid %d %s", e.Time, e.CPU, e.TID, e.Stream.Label)
		for i := range e.Stream.Schema.Fields {
			if f := &e.Stream.Schema.Fields[i]; i > 1 {
				fmt.Fprintf(&b, " %s=%v", f.Name, f.Value(e))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestOnwardHistories gives the events of a machine in pieces that go on where the last one ended: each span
// is told as if all events up to its end had been given for it.
func TestOnwardHistories(t *testing.T) {
	for seed := range uint64(10) {
		s := newSim(seed, 1+int(seed%4), 3+int(seed%7))
		for range 1500 {
			s.step()
		}
		h := s.story()
		fresh, onward := why.New(h.config()), why.New(h.config())
		given := 0
		for n := len(s.evs) / 10; n < len(s.evs); n += 1 + len(s.evs)/50 {
			th := s.threads[n%len(s.threads)]
			to := s.evs[n-1].Time
			span := why.Span{From: max(to-event.Time(20000*(1+n%5)), 1), To: to, TID: th.tid, PID: th.pid}
			want := partsText(fresh.Explain(span, why.History{Events: slices.Values(s.evs[:n])}))
			got := partsText(onward.Explain(span,
				why.History{Events: slices.Values(s.evs[given:n]), Onward: given > 0}))
			if got != want {
				t.Fatalf("seed %d, span %+v: got\n%s\nwant\n%s", seed, span, got, want)
			}
			given = n
		}
	}
}
