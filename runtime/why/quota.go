package why

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file finds the times in which the CPU quota of a cgroup holds threads, from the kernel's own
// account. Each cgroup has a queue on each CPU, which has the time since which it is held
// (throttled_clock_self, 0 if it is not held) and the total time for which it was held before
// (throttled_clock_self_time), since Linux 6.6. Both are read at switches. The growth of the
// account from the switch with which a thread leaves its CPU to the switch with which it gets it
// back is the time for which it was held.

// A Read is a C expression for a value in the kernel's memory that is read with an
// event.
type Read struct {
	Text string
	// Optional says that only some kernels have the member. If a read that is not optional is
	// missing, the others are of no use.
	Optional bool
}

// QuotaProbes are the Needs that are only for quotas: they are not missed if there are no quotas.
var QuotaProbes = []string{"kprobe:throttle_cfs_rq", "kprobe:unthrottle_cfs_rq"}

// QuotaEvent is the event with which QuotaReads are read.
const QuotaEvent = "sched:sched_switch"

// QuotaReads are the expressions that a kernel program reads with QuotaEvent. task() is the thread
// that leaves the CPU; rq->curr is already the thread that gets it. Since Linux 6.18, a thread is
// held only if it is marked (throttled), which happens on its way back to user code. Before, all
// threads of a held queue are held.
func QuotaReads() []Read {
	return []Read{
		{"task()->se.cfs_rq->throttled_clock_self_time", false},
		{"task()->se.cfs_rq->throttled_clock_self", false},
		{"task()->se.cfs_rq->rq->clock", false},
		{"task()->se.cfs_rq->rq->curr->se.cfs_rq->throttled_clock_self_time", false},
		{"task()->throttled", true},
	}
}

// Indexes in QuotaReads.
const (
	quotaTotal = iota
	quotaSince
	quotaClock
	quotaCame
	quotaMarked
)

// The flags in record.quota of a switch.
const (
	quotaTold   uint8 = 1 << iota // the account was read
	quotaHeld                     // the leaving thread is held from here on
	quotaByMark                   // held threads are marked, so a thread without quotaHeld is not held
)

// quotaAt reads the account at a switch.
func (x *Explainer) quotaAt(r *record, e *event.Event) {
	var v [quotaMarked + 1]int64
	for i, f := range x.cfg.QuotaFields {
		n, ok := int64(0), false
		if f != nil {
			n, ok = f.Int(e)
		}
		switch {
		case ok:
			v[i] = n
		case i != quotaMarked:
			return
		}
		if i == quotaMarked && ok {
			r.quota |= quotaByMark
		}
	}
	if len(x.cfg.QuotaFields) == 0 {
		return
	}
	r.quota |= quotaTold
	r.b, r.c = uint64(v[quotaTotal]), uint64(v[quotaCame])
	if v[quotaSince] != 0 {
		r.b += uint64(max(v[quotaClock]-v[quotaSince], 0))
		if r.runnable() && (r.quota&quotaByMark == 0 || v[quotaMarked] != 0) {
			r.quota |= quotaHeld
		}
	}
}

// accounted reads from the kernel's account until when the quota held a thread while it had no CPU:
// end is 0 if it did not; reason says why that is unknown. known is false if there is no account.
func (x *Explainer) accounted(t *thread, s *stay) (end event.Time, reason string, known bool) {
	if s.out < 0 {
		return 0, "", false
	}
	out := &x.recs[t.list[s.out].rec]
	if out.kind != kSwitch || out.quota&quotaTold == 0 {
		return 0, "", false
	}
	held := out.quota&quotaHeld != 0
	if !held && out.quota&quotaByMark != 0 {
		return 0, "", true
	}
	if s.in < 0 {
		if !held {
			return 0, "", false
		}
		return 0, "its quota was used up, until when was not seen", true
	}
	in := &x.recs[t.list[s.in].rec]
	switch {
	case in.kind != kSwitch || in.other != t.tid || in.quota&quotaTold == 0:
		reason = "its quota was used up, until when was not seen"
	case in.cpu != out.cpu:
		reason = "another CPU got it, and perhaps its quota was used up"
	case in.c < out.b:
		reason = "its cgroup changed while its quota was used up"
	case held:
		return min(out.at+event.Time(in.c-out.b), in.at), "", true
	case in.c == out.b:
		return 0, "", true
	default:
		return 0, "its quota was used up for some of this time", true
	}
	return 0, reason, held
}

// byAccount explains the begin of [from, to), in which a thread waits for a CPU, as far as its
// quota held it. It returns the begin of the rest; known says that there is an account, so that the
// quota does not hold the thread in the rest.
func (w *walker) byAccount(t *thread, s *stay, from, to event.Time) (rest event.Time, known bool) {
	end, reason, known := w.x.accounted(t, s)
	l := result.WhyLink{Task: w.x.task(t.tid), Kind: result.WhyQuota, What: w.x.cgroup(t.tid).Path}
	switch {
	case !known:
		return from, false
	case reason != "":
		l.Kind, l.What, end = result.WhyUnknown, reason, to
	}
	if end = min(end, to); end <= from {
		return from, true
	}
	w.emit(from, end, l)
	return end, true
}
