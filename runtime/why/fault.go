package why

import (
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file estimates the time of page faults outside of their two events. The first event comes
// after the CPU (and a hypervisor) has entered the kernel, the second one before it has left.
// Entering and leaving may take three times longer than the time between the events, and looks like
// code of the program. No event shows it. But if a program only touches memory, one fault follows
// another, and the times between two faults are mostly entering and leaving. So in a series of many
// faults, the 10th percentile of these times is taken as the time to leave one fault and enter the
// next, half for each. The explanation says that this is an estimate. For single faults nothing is
// estimated, since the time between them may be the program's.

const (
	// storm is the least number of times between successive faults for an
	// estimate.
	storm = 64
	// beyond bounds the estimate: the time between two faults is the program's if it is longer than
	// beyond times the median time between the events of a fault.
	beyond = 5
)

// faulting is the state of a walker for these estimates: way is the estimated time to enter, and to
// leave, a fault in the current thread; estimate is the sum of the estimated times in the span.
type faulting struct {
	way      event.Time
	estimate event.Time
}

// faultWay estimates the time in which a thread enters, or leaves, a page fault, from its faults in
// [from, to); 0 if there is no estimate.
func (x *Explainer) faultWay(t *thread, from, to event.Time) event.Time {
	if !x.observed[kFault] || !x.observed[kFaultDone] {
		return 0
	}
	inside, between := x.scratch.inside[:0], x.scratch.between[:0]
	var begun, done event.Time
	for i := t.firstAfter(from - 1); i < len(t.list) && t.list[i].at < to; i++ {
		e := &t.list[i]
		if e.other {
			continue
		}
		switch x.recs[e.rec].kind {
		case kFault:
			if done > 0 {
				between = append(between, e.at-done)
			}
			begun, done = e.at, 0
		case kFaultDone:
			if begun > 0 {
				inside, done = append(inside, e.at-begun), e.at
			}
			begun = 0
		default:
			begun, done = 0, 0
		}
	}
	x.scratch.inside, x.scratch.between = inside, between
	if len(between) < storm {
		return 0
	}
	slices.Sort(inside)
	slices.Sort(between)
	shortest := between[len(between)/10]
	if shortest > beyond*inside[len(inside)/2] {
		return 0
	}
	return shortest / 2
}

// nearFaults splits a time in which a thread ran in its program. Until out it leaves the fault
// before, and from in on it enters the fault behind; -1 if there is no such fault.
func (w *walker) nearFaults(t *thread, s *stay) (out, in event.Time, before, behind int32) {
	before, behind = -1, -1
	if w.way == 0 {
		return s.from, s.to, before, behind
	}
	x := w.x
	out, in = s.from, s.to
	next := t.after(t.firstAfter(s.from))
	if at := t.before(t.firstAfter(s.from)); at >= 0 && t.list[at].at == s.from {
		if n := t.list[at].rec; x.recs[n].kind == kFaultDone {
			out, before = s.from+w.way, n
		}
	}
	if next >= 0 && t.list[next].at == s.to {
		if n := t.list[next].rec; x.recs[n].kind == kFault {
			in, behind = s.to-w.way, n
		}
	}
	if out > in { // the time is shorter than both ways
		middle := s.from + (s.to-s.from)/2
		out, in = middle, middle
		switch {
		case behind < 0:
			out, in = s.to, s.to
		case before < 0:
			out, in = s.from, s.from
		}
	}
	return out, in, before, behind
}

// inProgram explains a time in which a thread runs in its program, without the estimated
// times of faults.
func (w *walker) inProgram(t *thread, s *stay, from, to event.Time, link result.WhyLink) {
	out, in, before, behind := w.nearFaults(t, s)
	fault := func(from, to event.Time, n int32) {
		if n < 0 || from >= to {
			return
		}
		l := result.WhyLink{Task: link.Task, Kind: result.WhyFault, What: w.x.faultName(t, n)}
		w.estimate += to - from
		w.onCPU(t, s, from, to, l)
	}
	fault(from, min(out, to), before)
	w.onCPU(t, s, max(from, out), min(to, in), link)
	fault(max(from, in), to, behind)
}

// tellEstimate adds a doubt to the span with the time that is an estimate.
func (w *walker) tellEstimate() {
	if w.estimate > 0 && w.span.Doubt == "" {
		w.span.Doubt = fmt.Sprintf("%s of its page faults are an estimate, from the shortest times between "+
			"two: no event shows how long it takes to enter and leave a fault",
			unit.Duration(int64(w.estimate)))
	}
}
