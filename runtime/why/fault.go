package why

import (
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file tells how much of page faults their events do not show. The exception's tracepoint comes when
// the kernel has begun to work, and the count of the fault before it has ended: the CPU's way in and out,
// and that of a hypervisor, which may take three times longer than what lies between, look like the user's
// code. No event tells of it. But where a program only touches memory, one fault follows another, and the
// time between two is little else. So of a storm of faults the tenth-shortest of a hundred such times is
// taken for the way out of one and into the next, half for each, which is an estimate and said to be one.
// Of single faults nothing is taken: what was between them may be the program's.

const (
	// storm is how many faults of a span must follow each other.
	storm = 64
	// beyond is how many times longer than between its events a fault may take outside of them; what
	// takes longer is the program's.
	beyond = 5
)

// faulting is what a walker knows of faults: the way into one, and out of it, in ns, of the thread that it
// is at, and how much of the span was told of these.
type faulting struct {
	way      event.Time
	estimate event.Time
}

// faultWay estimates the way of a thread into a fault, or out of one, from those of [from, to); 0 if they
// do not tell.
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

// nearFaults splits a time in which a thread ran in its program: what belongs to the fault before it, and
// to that behind it.
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
	if out > in { // shorter than most
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

// inProgram tells a time in which a thread runs in its program, less the ways of faults.
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

// tellEstimate says how much of a span's faults is an estimate.
func (w *walker) tellEstimate() {
	if w.estimate > 0 && w.span.Doubt == "" {
		w.span.Doubt = fmt.Sprintf("%s of its page faults are an estimate, by the shortest times between "+
			"two: no event tells of the way into a fault and out of it", unit.Duration(int64(w.estimate)))
	}
}
