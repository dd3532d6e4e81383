package why

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file finds what a blocked thread waits for, from its activity when it left its CPU,
// and from the thread that woke it and that thread's activity.

// A wait is what the blocked thread's own events show about a wait.
type wait struct {
	link result.WhyLink
	text string // name for people: "read fd 5"
	call *record
	lock int32
}

func (x *Explainer) wait(t *thread, s *stay) wait {
	v := wait{link: result.WhyLink{Task: x.task(t.tid), Kind: result.WhyBlocked}, lock: s.now.lock}
	if s.out >= 0 {
		v.link.Stack = x.recs[t.list[s.out].rec].stack
	}
	call, in, _ := x.call(s.now, s.from)
	switch f := s.now.fault; {
	case f >= 0 && (x.recs[f].kind == kFault || x.observed[kFaultDone]):
		v.text = "page fault"
	case in:
		v.call, v.text = call, x.callName(call)
		switch name := x.names.texts[call.name]; {
		case call.kind != kEnter:
		case name == "futex":
			v.link.File = x.place(t, call.b)
		case ofFile[name] && int32(call.b) >= 0:
			v.link.File = x.file(t, int32(call.b), s.from)
		}
	}
	if v.text == "" {
		v.text = x.workName(s.now.work)
	}
	if v.lock == unsure {
		v.call = nil // it may wait for a lock within the call
	}
	return v
}

// blocked explains [from, to) of a time in which a thread waits for the wake-up
// in record wake.
func (w *walker) blocked(t *thread, s *stay, wake int32, from, to event.Time) {
	x := w.x
	v := x.wait(t, s)
	r := &x.recs[wake]
	v.link.WakerStack = r.stack
	switch {
	case r.kind == kBorn:
		v.link.Kind, v.link.What = result.WhyThread, NotBegun
		w.follow(t, &v, r.tid, from, to)
	case r.top == wake: // in a time with losses
		w.unknown(t, from, to, s.lossReason())
	case r.top >= 0 || r.inIRQ != inThread || r.tid <= 0:
		w.interrupted(t, s, &v, r, from, to)
	default:
		x.byThread(&v, r)
		w.follow(t, &v, r.tid, from, to)
	}
}

func (s *stay) lossReason() string {
	if s.reason != "" {
		return s.reason
	}
	return "it is not known whether a thread or an interrupt woke it"
}

// follow continues the explanation in the thread that ended a wait.
func (w *walker) follow(t *thread, v *wait, tid int32, from, to event.Time) {
	w.x.inTheWay(&v.link, t, w.x.thread(tid))
	if len(w.path)+1 >= w.depth || tid == t.tid || w.follows(tid) {
		w.emit(from, to, v.link)
		return
	}
	next := w.x.thread(tid)
	w.path = append(w.path, v.link)
	w.thread(next, from, to)
	w.unknown(next, w.at, to, "no event shows it")
	w.path = w.path[:len(w.path)-1]
}

// follows reports whether a thread is already on the path.
func (w *walker) follows(tid int32) bool {
	for i := range w.path {
		if w.path[i].Task.TID == tid {
			return true
		}
	}
	return false
}

// byThread sets the cause of a wait that a thread ended.
func (x *Explainer) byThread(v *wait, r *record) {
	var call *record
	work := ""
	if t := x.threads[r.tid]; t != nil {
		if i := t.before(t.firstAfter(r.at)); i >= 0 {
			if c, in, _ := x.call(t.list[i].now, r.at); in {
				call = c
			}
			work = x.workName(t.list[i].now.work)
		}
	}
	l := &v.link
	switch {
	case v.lock >= 0:
		l.Kind, l.What, l.File = result.WhyLock, x.lockName(&x.recs[v.lock]), ""
		if st := x.recs[v.lock].stack; st != 0 {
			l.Stack = st
		}
	case x.sameFutex(v, call):
		l.Kind, l.What = result.WhyFutex, "futex 0x"+strconv.FormatUint(call.b, 16)
		l.File = x.place(x.thread(r.tid), call.b) // of v.call, perhaps only the end is known
	default:
		l.Kind, l.What = result.WhyThread, v.text
		by := ""
		switch {
		case call != nil:
			by = "woken by " + x.names.texts[call.name]
		case work != "":
			by = "woken by " + work
		default:
			return
		}
		if v.text != "" {
			by = v.text + ", " + by
		}
		l.What = by
	}
}

// sameFutex reports whether a thread waits for a futex and the call of its waker releases
// that futex, so that the waker held it.
func (x *Explainer) sameFutex(v *wait, by *record) bool {
	if v.call == nil || by == nil || by.kind != kEnter || !wakesFutex(by.c) {
		return false
	}
	if x.names.texts[by.name] != "futex" || x.names.texts[v.call.name] != "futex" {
		return false
	}
	return v.call.kind != kEnter || v.call.b == by.b // the end of a call does not have the address
}

// Operations of futex: must match include/uapi/linux/futex.h.
const (
	futexWake       = 1
	futexRequeue    = 3
	futexCmpRequeue = 4
	futexWakeOp     = 5
	futexUnlockPI   = 7
	futexWakeBitset = 10
	futexCmdMask    = 0x7f
)

func wakesFutex(op uint64) bool {
	switch op & futexCmdMask {
	case futexWake, futexRequeue, futexCmpRequeue, futexWakeOp, futexUnlockPI, futexWakeBitset:
		return true
	}
	return false
}

// interrupted explains a wait that an interrupt ended.
func (w *walker) interrupted(t *thread, s *stay, v *wait, r *record, from, to event.Time) {
	x := w.x
	l := &v.link
	var top *record
	if r.top >= 0 {
		top = &x.recs[r.top]
	}
	if r.ref >= 0 && x.recs[r.ref].kind == kComplete {
		w.disk(t, v, r.ref, from, to)
		return
	}
	switch {
	case top != nil && top.soft() && top.a == softNetRx:
		l.Kind, l.What = result.WhyNetwork, v.text
		if r.ref >= 0 && x.recs[r.ref].kind == kRx && x.recs[r.ref].tid > 0 && x.recs[r.ref].tid != t.tid {
			w.follow(t, v, x.recs[r.ref].tid, from, min(to, x.recs[r.ref].at))
			l.Whom = x.task(x.recs[r.ref].tid)
		}
	case top != nil && top.soft() && top.a == softBlock:
		l.Kind, l.What = result.WhyDisk, "a request that was not seen"
	case top != nil && x.ofTimer(top), top == nil && x.sleeps(v):
		l.Kind, l.What = result.WhyTimer, v.text
	case top != nil:
		l.What = withCause(v.text, x.stolen(l.Task, r.top).What)
	case r.inIRQ == inSoft:
		l.What = withCause(v.text, "a softirq")
	default:
		l.What = withCause(v.text, "an interrupt")
	}
	w.emit(from, to, *l)
}

func withCause(what, by string) string {
	if what == "" {
		return "woken by " + by
	}
	return what + ", woken by " + by
}

func (r *record) soft() bool { return r.kind == kSoftirq || r.kind == kSoftirqDone }

// ofTimer reports whether an interrupt is for timers.
func (x *Explainer) ofTimer(r *record) bool {
	if r.soft() {
		return r.a == softTimer || r.a == softHrtimer
	}
	name := x.names.texts[r.name]
	return name == timerVector || strings.Contains(name, "timer")
}

// sleeps reports whether a thread is in a call that only a timer ends.
func (x *Explainer) sleeps(v *wait) bool {
	if v.call == nil {
		return false
	}
	switch x.names.texts[v.call.name] {
	case "nanosleep", "clock_nanosleep":
		return true
	}
	return false
}

// waiting explains a wait whose end is not in the history.
func (w *walker) waiting(t *thread, s *stay, from, to event.Time) {
	x := w.x
	v := x.wait(t, s)
	l := &v.link
	l.What = v.text
	switch {
	case v.lock >= 0:
		l.Kind, l.What, l.File = result.WhyLock, x.lockName(&x.recs[v.lock]), ""
	case x.sleeps(&v):
		l.Kind = result.WhyTimer
	case v.call != nil && v.call.kind == kEnter && x.names.texts[v.call.name] == "futex":
		l.Kind = result.WhyFutex
	}
	w.emit(from, to, *l)
}

// disk explains a wait for a disk request: first its time in the queue, then on
// the device.
func (w *walker) disk(t *thread, v *wait, complete int32, from, to event.Time) {
	x := w.x
	done := &x.recs[complete]
	l := v.link
	l.Kind, l.What = result.WhyDisk, x.names.texts[done.name]
	var insert, issue *record
	for i := done.ref; i >= 0; i = x.recs[i].ref {
		if r := &x.recs[i]; r.kind == kIssue {
			issue = r
		} else {
			insert = r
		}
	}
	first := insert
	if first == nil {
		first = issue
	}
	if first == nil || issue == nil {
		w.emit(from, to, l)
		return
	}
	if x.gaps.lossy(first.at, done.at) {
		w.emit(from, to, l)
		return
	}
	if first.at > from && first.tid > 0 && first.tid != t.tid {
		// It waited for the thread that made the request.
		asked := *v
		asked.link.Kind, asked.link.What = result.WhyThread, "asks for "+l.What
		w.follow(t, &asked, first.tid, from, min(first.at, to))
	}
	name := l.What
	l.What = name + ", queue"
	w.emit(from, min(to, issue.at), l)
	l.What = name + ", device"
	w.emit(from, to, l)
}
