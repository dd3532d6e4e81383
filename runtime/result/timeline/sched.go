package timeline

import (
	"ppscript/runtime/event"
)

// This file makes the items of scheduling events: which thread runs on which CPU, and
// which thread woke which.

// maxWakes bounds the number of woken threads that do not run yet.
const maxWakes = 1 << 16

// wakes has the flows from wake-ups to threads that wait for a CPU.
type wakes struct {
	last    uint64
	waiting map[int64]wake // by tid
}

type wake struct {
	flow   uint64
	waking bool // from a sched_waking event
}

func newWakes() wakes { return wakes{waiting: map[int64]wake{}} }

// schedFields are the fields of a scheduling event.
type schedFields struct {
	prev, next taskFields
	state, cpu *event.Field
	waking     bool
	fresh      bool
}

type taskFields struct{ comm, pid, prio *event.Field }

// find sets the fields, and reports whether the schema has all that are needed.
func (s *schedFields) find(schema *event.Schema) bool {
	get := func(name string) *event.Field {
		f, ok := schema.Field(name)
		if !ok || f.Place == event.InMember {
			return nil
		}
		return f
	}
	s.waking, s.fresh = schema.Name == "sched_waking", schema.Name == "sched_wakeup_new"
	if schema.Name == "sched_switch" {
		s.prev = taskFields{get("prev_comm"), get("prev_pid"), get("prev_prio")}
		s.next = taskFields{get("next_comm"), get("next_pid"), get("next_prio")}
		s.state = get("prev_state")
		return s.prev.all() && s.next.all() && s.state != nil
	}
	s.next = taskFields{get("comm"), get("pid"), get("prio")}
	s.cpu = get("target_cpu")
	return s.next.all()
}

func (t *taskFields) all() bool { return t.comm != nil && t.pid != nil && t.prio != nil }

func (t *taskFields) of(e *event.Event) Task {
	tid, _ := t.pid.Int(e)
	prio, _ := t.prio.Int(e)
	return Task{TID: tid, Prio: prio, Comm: t.comm.Text(e)}
}

// switched makes the items of a switch, and ends the flow of a wake-up of the
// thread that runs now.
func (b *Builder) switched(k *kind, e *event.Event) {
	state, _ := k.sched.state.Int(e)
	b.tracks.process(e)
	it := &b.item
	it.Kind, it.Stack = Switch, k.stackOf(e)
	it.Sched = Sched{Prev: k.sched.prev.of(e), Next: k.sched.next.of(e), State: state, CPU: e.CPU}
	it.Track = b.tracks.cpu(e.CPU)
	next := it.Sched.Next.TID
	b.write()
	if it.Stack != 0 {
		*it = Item{Kind: Instant, Time: e.Time, Name: k.name, Event: e, Stack: it.Stack}
		it.Track = b.tracks.of(b, e)
		b.write()
	}
	w, woken := b.wakes.waiting[next]
	if !woken || next == 0 {
		return
	}
	delete(b.wakes.waiting, next)
	*it = Item{Kind: Instant, Time: e.Time, Name: "runs", Event: e, Follows: w.flow}
	it.Track = b.tracks.named(b, e, int32(next))
	b.write()
}

// woke makes the item of a wake-up. If sched_wakeup follows a sched_waking, the flow
// begins at the sched_waking, which happens in the waker's context.
func (b *Builder) woke(k *kind, e *event.Event) {
	b.tracks.process(e)
	it := &b.item
	it.Kind, it.Stack = Wakeup, k.stackOf(e)
	it.Sched = Sched{Next: k.sched.next.of(e), CPU: -1, New: k.sched.fresh, Waking: k.sched.waking}
	if k.sched.cpu != nil {
		if n, ok := k.sched.cpu.Int(e); ok {
			it.Sched.CPU = int32(n)
		}
	}
	it.Track = b.tracks.of(b, e)
	tid := it.Sched.Next.TID
	if w, waits := b.wakes.waiting[tid]; !waits || !w.waking || k.sched.waking {
		if len(b.wakes.waiting) >= maxWakes {
			clear(b.wakes.waiting)
		}
		b.wakes.last++
		b.wakes.waiting[tid] = wake{b.wakes.last, k.sched.waking}
		it.Leads = b.wakes.last
	}
	b.write()
}
