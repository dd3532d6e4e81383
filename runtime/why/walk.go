package why

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file walks through a span: it explains the times of its thread one after another, and
// continues in the threads that it waited for.

// A walker makes one explained span. path has the links to the current thread: the wait of
// the span's thread, and so on.
type walker struct {
	x     *Explainer
	path  []result.WhyLink
	span  *result.WhySpan
	at    event.Time // the span is explained up to this time
	full  bool
	depth int
	// quotas caches, by tid, whether the quota may hold a thread; see
	// quotaMayHold.
	quotas map[int32]bool
	// accounted says that the kernel's account covers the current time, so that its quota is
	// known.
	accounted bool
	faulting
}

func (x *Explainer) tell(s Span) *result.WhySpan {
	t := x.thread(s.TID)
	if t.pid <= 0 {
		t.pid = s.PID
	}
	w := &x.walker
	*w = walker{x: x, path: w.path[:0], at: s.From, depth: x.cfg.Depth}
	w.span = &result.WhySpan{Label: s.Label, Key: s.Key, Task: x.task(s.TID), From: s.From, To: s.To}
	if s.To > s.From {
		w.thread(t, s.From, s.To)
		w.unknown(t, w.at, s.To, "no event shows it")
	}
	w.tellEstimate()
	told := w.span
	w.span = nil
	return told
}

// task returns the process and name of a thread. It calls Config.Task only once for
// each history, since that may read files.
func (x *Explainer) task(tid int32) result.WhyTask {
	if tid <= 0 {
		return result.WhyTask{TID: tid}
	}
	t := x.thread(tid)
	if !t.checked && (t.pid <= 0 || t.name == 0) && x.cfg.Task != nil {
		t.checked = true
		pid, comm := x.cfg.Task(tid)
		if t.pid <= 0 {
			t.pid = pid
		}
		if t.name == 0 {
			t.name = x.names.of(comm)
		}
	}
	return result.WhyTask{TID: tid, PID: max(t.pid, 0), Comm: x.names.texts[t.name]}
}

// emit adds [from, to) as a part with the path and link as its cause. Times that are
// already explained or outside the span are left out.
func (w *walker) emit(from, to event.Time, link result.WhyLink) {
	s := w.span
	from, to = max(from, w.at), min(to, s.To)
	if from >= to {
		return
	}
	if from > w.at { // only a bug leaves a hole; the parts must add up all the same
		w.emit(w.at, from, result.WhyLink{Task: link.Task, What: "no event shows it"})
	}
	w.at = to
	if w.full {
		s.Parts[len(s.Parts)-1].To = to
		return
	}
	w.path = append(w.path, link)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	if n := len(s.Parts); n > 0 && slices.Equal(s.Parts[n-1].Path, w.path) {
		s.Parts[n-1].To = to
		return
	}
	if len(s.Parts) >= w.x.cfg.Parts-1 && !compact(s, group) && !compact(s, len(s.Parts)) {
		w.full = true
		s.Doubt = "it has too many parts: the last ones are not explained"
		s.Parts = append(s.Parts, result.WhyPart{
			From: from, To: to, Path: []result.WhyLink{{Task: s.Task, What: "more parts than are kept"}},
		})
		return
	}
	s.Parts = append(s.Parts, result.WhyPart{From: from, To: to, Path: slices.Clone(w.path)})
}

func (w *walker) unknown(t *thread, from, to event.Time, reason string) {
	w.emit(from, to, result.WhyLink{Task: w.x.task(t.tid), Kind: result.WhyUnknown, What: reason})
}

// thread explains the time [from, to) of a thread.
func (w *walker) thread(t *thread, from, to event.Time) {
	before := w.way
	defer func() { w.way = before }()
	w.way = w.x.faultWay(t, from, to)
	w.x.stays(t, from, to, func(s *stay) {
		begin, end := max(s.from, from), min(s.to, to)
		switch s.state {
		case isRunning:
			w.running(t, s, begin, end)
		case isOff:
			w.off(t, s, begin, end)
		default:
			w.lost(t, s, begin, end)
		}
	})
}

// lost explains a time in which the state of a thread is unknown.
func (w *walker) lost(t *thread, s *stay, from, to event.Time) {
	if w.x.seenNothing(t) {
		w.unknown(t, from, min(to, w.x.since), w.x.why)
		w.unknown(t, max(from, w.x.since), to, "no event of the thread was seen")
		return
	}
	w.unknown(t, from, to, s.reason)
}

func (x *index) seenNothing(t *thread) bool { return len(t.list) == 0 }

const mayBeStolen = "an interrupt whose events were not seen may have had it"

// running explains a time in which a thread has a CPU.
func (w *walker) running(t *thread, s *stay, from, to event.Time) {
	if s.supposed {
		w.unknown(t, from, to, "its switch to the CPU was not seen")
		return
	}
	link := w.x.running(t, s, from)
	if link.Kind == result.WhyUser {
		w.inProgram(t, s, from, to, link)
		return
	}
	w.onCPU(t, s, from, to, link)
}

// onCPU explains a time in which a thread has a CPU: its own activity is link, and
// the rest are interrupts.
func (w *walker) onCPU(t *thread, s *stay, from, to event.Time, link result.WhyLink) {
	w.x.turns(s.cpu, from, to, func(from, to event.Time, u *turn, reason string) {
		switch {
		case reason != "":
			w.emit(from, to, link) // the thread's own events show that it runs
		case u.top >= 0:
			w.emit(from, to, w.x.stolen(link.Task, u.top))
		case u.doubt:
			w.unknown(t, from, to, mayBeStolen)
		default:
			w.emit(from, to, link)
		}
	})
}

// running returns the activity of a thread on its CPU.
func (x *Explainer) running(t *thread, s *stay, at event.Time) result.WhyLink {
	l := result.WhyLink{Task: x.task(t.tid), Kind: result.WhyCPU}
	call, in, known := x.call(s.now, at)
	switch {
	case s.now.lock >= 0:
		l.Kind, l.What = result.WhyLock, x.lockName(&x.recs[s.now.lock])
		l.Stack = x.recs[s.now.lock].stack
	case s.now.lock == unsure:
		l.What = "the begin or the end of a lock was not seen"
	case s.now.fault == unsure:
		l.What = "the begin or the end of a page fault was not seen"
	case s.now.fault >= 0 && x.observed[kFaultDone]:
		l.Kind, l.What = result.WhyFault, x.faultName(t, s.now.fault)
	case !known && x.isKernel(t):
		l.Kind, l.What = result.WhyKernel, x.workName(s.now.work)
	case s.now.sys == unsure:
		l.What = "the begin or the end of a system call was not seen"
	case !known:
		l.What = x.notKnown(t)
	case in:
		l.Kind, l.What = result.WhySyscall, x.names.texts[call.name]
	default:
		l.Kind = result.WhyUser
		if s.now.fault >= 0 && x.recs[s.now.fault].kind == kFault {
			l.What = "and page faults"
		}
	}
	return l
}

// notKnown returns why it is unknown whether a thread runs in its program or in the
// kernel.
func (x *Explainer) notKnown(t *thread) string {
	for _, e := range []string{"raw_syscalls:sys_enter", "raw_syscalls:sys_exit"} {
		if why := x.missing[e]; why != "" {
			return why
		}
	}
	if !x.observed[kEnter] && !x.observed[kExit] {
		return "system calls are not observed"
	}
	if !x.allCalls {
		return "only some system calls are observed"
	}
	return "no system call of it was seen"
}

// faultName returns "minor" or "major" for a page fault; "" if unknown.
func (x *Explainer) faultName(t *thread, fault int32) string {
	if r := &x.recs[fault]; r.kind == kFaultDone {
		return faultKind(r.a)
	}
	i := t.firstAfter(x.recs[fault].at)
	for ; i < len(t.list); i++ {
		switch r := &x.recs[t.list[i].rec]; r.kind {
		case kFaultDone:
			return faultKind(r.a)
		case kEnter, kExit, kFault:
			return ""
		}
	}
	return ""
}

func faultKind(major uint64) string {
	if major != 0 {
		return "major"
	}
	return "minor"
}

// stolen returns the link for an interrupt that took the CPU.
func (x *Explainer) stolen(task result.WhyTask, top int32) result.WhyLink {
	r := &x.recs[top]
	l := result.WhyLink{Task: task, Kind: result.WhyIRQ, What: x.names.texts[r.name]}
	switch r.kind {
	case kSoftirq, kSoftirqDone:
		l.Kind = result.WhySoftirq
	case kIRQDone:
		if l.What == "" {
			l.What = "a hard interrupt"
		}
	}
	return l
}

// isKernel reports whether a thread is a kernel thread.
func (x *Explainer) isKernel(t *thread) bool {
	switch {
	case t.syscalls:
		return false
	case t.kernel || t.user:
	case x.cfg.Kernel != nil:
		t.kernel = x.cfg.Kernel(t.tid)
	default:
		t.kernel = KernelName(x.task(t.tid).Comm)
	}
	t.user = !t.kernel
	return t.kernel
}

// turns calls fn for the turns of a CPU in [from, to), in order and without gaps; reason
// says why the state of the CPU is unknown, or is "".
func (x *index) turns(n int32, from, to event.Time, fn func(from, to event.Time, u *turn, reason string)) {
	if from >= to {
		return
	}
	var none turn
	if n < 0 || int(n) >= len(x.cpus) {
		fn(from, to, &none, "none of the events of its CPU were seen")
		return
	}
	list := x.cpus[n].list
	i := firstTurnAfter(list, from)
	if i == 0 {
		end := to
		if len(list) > 0 {
			end = min(end, list[0].at)
		}
		fn(from, end, &none, x.why)
		from, i = end, 1 // continues with the first turn
	}
	for ; from < to; i++ {
		u, end := &list[i-1], to
		if i < len(list) {
			end = min(end, list[i].at)
		}
		if end <= from {
			continue
		}
		reason := ""
		if u.kind == kGap {
			reason = x.lossAt(n, u.at)
		}
		fn(from, end, u, reason)
		from = end
	}
}

// lossAt returns the reason for the gap of a CPU that begins at a time.
func (x *index) lossAt(cpu int32, at event.Time) string {
	for _, g := range x.gaps.between(at-1, at+1) {
		if (g.CPU < 0 || g.CPU == cpu) && g.From <= at && g.To >= at {
			return g.Reason
		}
	}
	return "events were lost"
}

func firstTurnAfter(list []turn, at event.Time) int {
	i, j := 0, len(list)
	for i < j {
		if h := int(uint(i+j) >> 1); list[h].at <= at {
			i = h + 1
		} else {
			j = h
		}
	}
	return i
}
