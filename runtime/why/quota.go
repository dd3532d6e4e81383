package why

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file tells what the CPU quota of a cgroup holds, by the kernel's own account of it. Each cgroup has a
// queue on each CPU, which knows since when it is held (throttled_clock_self, 0 if it is not) and how long
// it was before (throttled_clock_self_time), Linux 6.6. Both are read at switches: what the account grew by
// between those with which a thread leaves its CPU and gets it back is how long it was held in between.

// A Read is what is read of the kernel's memory with an event, as an expression of C.
type Read struct {
	Text string
	// Optional reads are of members that only some kernels have; without one of the others none is of use.
	Optional bool
}

// QuotaProbes are the Needs that only tell of quotas: without them nothing is missing where there are none.
var QuotaProbes = []string{"kprobe:throttle_cfs_rq", "kprobe:unthrottle_cfs_rq"}

// QuotaEvent is the event with which QuotaReads are read.
const QuotaEvent = "sched:sched_switch"

// QuotaReads are read with it where a program of the kernel can. The task is that which leaves; the
// run queue has the one that comes as its own by then. From Linux 6.18 on a thread is held only if it is
// marked (throttled), which happens on its way back to user code. Before, every thread of a held queue is.
func QuotaReads() []Read {
	return []Read{
		{"task()->se.cfs_rq->throttled_clock_self_time", false},
		{"task()->se.cfs_rq->throttled_clock_self", false},
		{"task()->se.cfs_rq->rq->clock", false},
		{"task()->se.cfs_rq->rq->curr->se.cfs_rq->throttled_clock_self_time", false},
		{"task()->throttled", true},
	}
}

// The order of QuotaReads.
const (
	quotaTotal = iota
	quotaSince
	quotaClock
	quotaCame
	quotaMarked
)

// What a switch tells of quotas.
const (
	quotaTold   uint8 = 1 << iota // anything
	quotaHeld                     // the thread that leaves is held from here on
	quotaByMark                   // no thread is held that does not say so when it leaves
)

// quotaAt reads the account with a switch.
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

// accounted says what the kernel's account tells of a time in which a thread has no CPU: until when its
// quota held it, 0 if it did not; or why that is not known. known is whether there is an account at all.
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
		return 0, "the end of what the quota held was not seen", true
	}
	in := &x.recs[t.list[s.in].rec]
	switch {
	case in.kind != kSwitch || in.other != t.tid || in.quota&quotaTold == 0:
		reason = "the end of what the quota held was not seen"
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

// byAccount explains the begin of [from, to) in which a thread waits for a CPU as far as its quota held it,
// and returns where the rest begins; known is whether there is an account, by which the rest is no quota's.
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
