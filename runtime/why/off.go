package why

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file explains times in which a thread has no CPU. It is blocked until its wake-up,
// then it waits for a CPU.

// off explains [from, to) of a stay without a CPU.
func (w *walker) off(t *thread, s *stay, from, to event.Time) {
	x := w.x
	wake := x.wakeUp(t, s)
	var out *record
	if s.out >= 0 {
		out = &x.recs[t.list[s.out].rec]
	}
	switch {
	case out != nil && out.runnable():
		w.runnable(t, s, s.from, from, to, out.cpu)
	case wake >= 0:
		r := &x.recs[wake]
		if from < r.at {
			w.blocked(t, s, wake, from, min(to, r.at))
		}
		if to > r.at {
			w.runnable(t, s, r.at, max(from, r.at), to, int32(r.a))
		}
	case out == nil: // it was not woken since the loss
		w.runnable(t, s, s.from, from, to, -1)
	case s.in >= 0 && x.wokeEarly(t, s):
		w.runnable(t, s, s.from, from, to, out.cpu)
	case s.in >= 0:
		w.unknown(t, from, to, x.noWakeUp())
	case s.reason != "":
		w.unknown(t, from, to, s.reason)
	default:
		w.waiting(t, s, from, to)
	}
}

// runnable reports whether a thread left its CPU although it could continue. The low bits
// of prev_state are then 0; the bits above mark preemption.
func (r *record) runnable() bool { return r.a&0xff == 0 }

func (x *Explainer) noWakeUp() string {
	if why := x.missing["sched:sched_waking"]; why != "" {
		return why
	}
	if !x.observed[kWaking] && !x.observed[kWakeup] {
		return "wake-ups are not observed"
	}
	return "its wake-up was not seen"
}

// wakeUp returns the record of the wake-up that ends a block; -1 if there is
// none.
func (x *index) wakeUp(t *thread, s *stay) int32 {
	i := s.out + 1
	if s.out < 0 {
		i = t.firstAfter(s.from - 1)
		if s.from == never {
			i = 0
		}
	}
	for ; i < len(t.list) && i != s.in && t.list[i].at <= s.to; i++ {
		if !t.list[i].other {
			if t.list[i].at > s.from {
				break
			}
			continue
		}
		switch x.recs[t.list[i].rec].kind {
		case kWaking, kWakeup, kBorn:
			return t.list[i].rec
		}
	}
	return -1
}

// wokeEarly reports whether a thread was woken by another CPU while it was about to
// leave its own CPU.
func (x *index) wokeEarly(t *thread, s *stay) bool {
	for i := s.out - 1; i >= 0 && t.list[i].other; i-- {
		switch r := &x.recs[t.list[i].rec]; r.kind {
		case kWaking, kWakeup:
			return s.from-r.at < leaving
		}
	}
	return false
}

// leaving is the longest time, in ns, from when a thread is marked as sleeping until it
// leaves its CPU.
const leaving = 20_000

// runnable explains [from, to) of a thread that has waited for a CPU since a time, at
// first for CPU cpu; -1 if unknown.
func (w *walker) runnable(t *thread, s *stay, since, from, to event.Time, cpu int32) {
	x := w.x
	last := int32(-1)
	if s.in >= 0 {
		last = x.recs[t.list[s.in].rec].cpu
	}
	at := since
	i := 0
	if since != never {
		i = t.firstAfter(since - 1)
	}
	for ; i < len(t.list) && i != s.in && t.list[i].at <= s.to; i++ {
		r := &x.recs[t.list[i].rec]
		if r.kind != kMigrate {
			continue
		}
		w.queuedThen(t, s, cpu, int32(r.a), max(at, from), min(r.at, to))
		cpu, at = int32(r.b), r.at
	}
	if last < 0 {
		last = cpu
	}
	w.queuedThen(t, s, cpu, last, max(at, from), to)
}

// queuedThen explains a time at whose end the thread waited for CPU then. If it first waited for
// another CPU, its move was not observed, and the cause is unknown.
func (w *walker) queuedThen(t *thread, s *stay, first, then int32, from, to event.Time) {
	if first < 0 || first == then || from >= to {
		w.queued(t, s, then, from, to)
		return
	}
	reason := "its move to another CPU was not seen"
	if why := w.x.missing["sched:sched_migrate_task"]; why != "" {
		reason = "its move to another CPU: " + why
	}
	w.unknown(t, from, to, reason)
}

// queued explains a time in which a thread waits for a CPU, including the times in which
// the quota of its cgroup held it.
func (w *walker) queued(t *thread, s *stay, cpu int32, from, to event.Time) {
	put := w.x.wasPutOff(t, s)
	rest, known := w.byAccount(t, s, from, to)
	if known && rest > from {
		from, put = rest, false
	}
	w.accounted = known
	defer func() { w.accounted = false }()
	for from < to && !known {
		h := w.x.limited(t, s, cpu, from, to)
		if h == nil {
			break
		}
		w.behind(t, put, cpu, from, h.from)
		put = false
		w.emit(h.from, h.to, h.link)
		from = h.to
	}
	w.behind(t, put, cpu, from, to)
}

// behind explains a time in which a thread waits for a CPU that others have; put says that it
// lost its CPU to the idle task.
func (w *walker) behind(t *thread, put bool, cpu int32, from, to event.Time) {
	if from >= to {
		return
	}
	if cpu < 0 {
		w.unknown(t, from, to, "it waits for a CPU, but which one is not known")
		return
	}
	task := w.x.task(t.tid)
	w.x.turns(cpu, from, to, func(from, to event.Time, u *turn, reason string) {
		l := result.WhyLink{Task: task, Kind: result.WhyBehind}
		switch {
		case reason != "":
			l.Kind, l.What = result.WhyUnknown, reason
		case u.top >= 0:
			l = w.x.stolen(task, u.top)
		case u.doubt:
			l.Kind, l.What = result.WhyUnknown, mayBeStolen
		case u.cur < 0:
			l.Kind, l.What = result.WhyUnknown, "which thread has the CPU is not known"
		case u.cur == 0 && put:
			// A CPU is not idle while a thread waits for it, unless the thread may
			// not run.
			l.Kind, l.What = result.WhyUnknown, w.x.quotaNotSeen()
		case u.cur == 0:
			l.Kind = result.WhyIdle
		case u.cur == t.tid:
			l.Kind, l.What = result.WhyKernel, "being switched"
		case w.quotaMayHold(t):
			l.Kind, l.What = result.WhyUnknown, quotaOrOther
		default:
			whom := w.x.thread(u.cur)
			if w.x.inTheWay(&l, t, whom); l.Kernel {
				l.What = workIn(w.x, whom, from, to)
			}
		}
		w.emit(from, to, l)
	})
}

// quotaOrOther is the reason if another thread has the CPU and the quota may also be used
// up.
const quotaOrOther = "another thread has the CPU, and perhaps its quota is used up: " +
	"kprobe:throttle_cfs_rq is not observed"

// quotaMayHold reports whether a thread may wait for its quota, unobserved, while another thread
// has the CPU. A limit that has held no thread so far does not count; that is checked again for
// each span.
func (w *walker) quotaMayHold(t *thread) bool {
	x := w.x
	if x.cfg.Quota == nil || x.observed[kThrottle] || t.free || w.accounted {
		return false
	}
	held, asked := w.quotas[t.tid]
	if asked {
		return held
	}
	path, limited := x.cgroup(t.tid).Path, false
	if path != "" {
		limited, held = x.cfg.Quota(path)
	}
	t.free = !limited
	if w.quotas == nil {
		w.quotas = map[int32]bool{}
	}
	w.quotas[t.tid] = held
	return held
}

// wasPutOff reports whether a thread lost its CPU to the idle task although it could
// continue.
func (x *index) wasPutOff(t *thread, s *stay) bool {
	if s.out < 0 {
		return false
	}
	r := &x.recs[t.list[s.out].rec]
	return r.runnable() && r.other == 0
}

func (x *Explainer) quotaNotSeen() string {
	if why := x.missing["kprobe:throttle_cfs_rq"]; why != "" {
		return "its CPU is idle, perhaps its quota is used up: " + why
	}
	return "its CPU is idle, perhaps its quota is used up: kprobe:throttle_cfs_rq is not observed"
}

// limited returns the first time in [from, to) in which the quota of a cgroup holds a
// thread that waits for a CPU; nil if there is none.
func (x *Explainer) limited(t *thread, s *stay, cpu int32, from, to event.Time) *quotaHold {
	for i, n := range x.limits {
		r := &x.recs[n]
		if r.kind != kThrottle || r.at >= to {
			continue
		}
		if !x.heldByQuota(t, s, r, cpu) {
			continue
		}
		end, over := to, s.in < 0
		for _, m := range x.limits[i+1:] {
			u := &x.recs[m]
			if u.a == r.a || u.kind == kUnthrottle && u.a == 0 {
				end, over = min(end, u.at), u.kind == kUnthrottle
				break
			}
		}
		if end > from {
			h := &quotaHold{from: max(r.at, from), to: end}
			h.link = result.WhyLink{Task: x.task(t.tid), Kind: result.WhyQuota, What: x.cgroup(r.tid).Path}
			if !over {
				h.link.Kind, h.link.What = result.WhyUnknown, "its quota was used up, until when was not seen"
			}
			return h
		}
	}
	return nil
}

// A quotaHold is a time in which the quota of a cgroup holds a thread.
type quotaHold struct {
	from, to event.Time
	link     result.WhyLink
}

// heldByQuota reports whether r shows that the thread's quota is used up.
func (x *Explainer) heldByQuota(t *thread, s *stay, r *record, cpu int32) bool {
	if r.tid == t.tid && s.out >= 0 && x.recs[t.list[s.out].rec].runnable() {
		// The thread left its CPU because of r if it had no other event in
		// between.
		i := t.before(s.out)
		return i >= 0 && x.recs[t.list[i].rec].kind == kThrottle && x.recs[t.list[i].rec].at == r.at
	}
	if r.cpu != cpu {
		return false
	}
	mine := x.cgroup(t.tid).Path
	return mine != "" && mine == x.cgroup(r.tid).Path
}
