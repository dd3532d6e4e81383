package why

import "slices"

// This file is about the interrupts of a CPU: which is served, and what is not known of that. After
// a loss one may be served whose begin was lost, until an event of the CPU tells that none is, or its
// end that it was. Where one of the two events is missing although no loss is known, the next event
// shows that too: the times in which it may have had the CPU are in doubt.

// ofThread reports an event that no interrupt makes, and softirqs, which begin in no other.
func (r *record) ofThread() bool {
	switch r.kind {
	case kSwitch, kEnter, kExit, kFault, kSoftirq:
		return true
	}
	return false
}

// isPlain notes that no interrupt is served but those that are known.
func (c *cpu) isPlain(recs []record) {
	c.plain = true
	for _, n := range c.doubts {
		recs[n].top = -1
	}
	c.doubts = c.doubts[:0]
	for i := len(c.list) - 1; i >= 0 && c.list[i].doubt; i-- {
		c.list[i].doubt = false
	}
}

// interruptBegins notes that an interrupt is served: record r, number n.
func (c *cpu) interruptBegins(recs []record, n int32, r *record) {
	for i, o := range c.open {
		if r.excludes(&recs[o]) {
			c.unseenEnd(recs, i, r)
			break
		}
	}
	c.completed = -1
	c.hard = c.hard || r.kind != kSoftirq
	c.open = append(c.open, n)
	c.turn(turn{at: r.at, rec: n, cur: c.cur, top: n, kind: r.kind})
}

// excludes reports that an interrupt cannot begin while another one is served, which is open. Softirqs
// begin in none; the handlers of hard interrupts may call those of others, whose numbers stand for a
// part of them.
func (r *record) excludes(open *record) bool {
	switch {
	case r.kind == kSoftirq:
		return true
	case open.kind == kSoftirq:
		return false
	}
	return open.kind != kIRQ || r.kind != kIRQ || open.a == r.a
}

// interruptDone ends an interrupt. One whose begin was lost has lasted since the loss.
func (c *cpu) interruptDone(recs []record, n int32, r *record) {
	c.completed = -1
	if r.kind == kSoftirqDone && r.a == softNetRx {
		c.rx = -1
	}
	end := turn{at: r.at, rec: n, kind: r.kind}
	for i := len(c.open) - 1; i >= 0; i-- {
		if !recs[c.open[i]].endsWith(r) {
			continue
		}
		if i+1 < len(c.open) {
			c.unseenEnd(recs, i+1, r)
		}
		c.open = c.open[:i]
		end.cur, end.top = c.cur, c.top()
		c.turn(end)
		return
	}
	if c.plain || c.hard && r.kind != kSoftirqDone {
		c.unseenBegin(recs, n, r)
		return
	}
	c.hard = true
	for i := len(c.list) - 1; i >= 0; i-- {
		if p := &c.list[i]; p.top < 0 {
			p.top = n
		}
		if c.list[i].kind == kEnd {
			for _, w := range c.doubts {
				recs[w].top = n
			}
			c.doubts = c.doubts[:0]
			break
		}
	}
	end.cur, end.top = c.cur, c.top()
	c.turn(end)
}

// endsWith reports that record r ends the interrupt that a record begins.
func (r *record) endsWith(end *record) bool {
	if r.kind != end.kind-1 {
		return false
	}
	if r.kind == kVector {
		return r.name == end.name
	}
	return r.a == end.a
}

// outside reports an event that no interrupt makes, or that says that it is in none.
func (r *record) outside() bool {
	switch r.kind {
	case kSwitch, kEnter, kExit:
		return true
	case kWaking, kWakeup:
		return r.tells && r.inIRQ == inThread
	}
	return false
}

// surely notes the time of an event that tells whether an interrupt is served: as is known already.
//
// Fast path: for every event.
func (c *cpu) surely(r *record) {
	switch r.kind {
	case kIRQ, kIRQDone, kVector, kVectorDone:
		c.sure = r.at
	case kSoftirq, kSoftirqDone, kSwitch, kEnter, kExit, kFault, kFaultDone:
		c.sure, c.sureSoft = r.at, r.at
	case kWaking, kWakeup:
		switch in := r.inIRQ != inThread; {
		case !r.tells || in != (len(c.open) > 0):
		case !in:
			c.sure, c.sureSoft = r.at, r.at
		default:
			c.sure = r.at
		}
	}
}

// unseenEnd makes up for the ends of the interrupts that are open on a CPU, but for the first that are
// to be kept, before record r, which is in none of them: they ended since they began.
//
// Slow path: where programs of others keep events from perf, now and then.
func (c *cpu) unseenEnd(recs []record, keep int, r *record) {
	ended := c.open[keep:]
	for i := len(c.list) - 1; i >= 0 && c.list[i].at >= recs[ended[0]].at; i-- {
		if u := &c.list[i]; slices.Contains(ended, u.top) {
			u.top, u.doubt = -1, true
		}
	}
	for i := int32(len(recs)) - 1; i > ended[0]; i-- {
		if w := &recs[i]; w.wakesUp() && !w.tells && slices.Contains(ended, w.top) {
			w.top, w.ref = i, -1
		}
	}
	c.open, c.completed, c.rx = c.open[:keep], -1, -1
	c.turn(turn{at: r.at, rec: -1, cur: c.cur, top: c.top(), kind: kEnd})
}

// unseenBegin makes up for the begin of an interrupt that record r, number n, ends: it was served since
// some time after the last event that tells of none.
func (c *cpu) unseenBegin(recs []record, n int32, r *record) {
	since := c.sure
	if r.kind == kSoftirqDone {
		since = c.sureSoft // the hard ones that came since do not tell
	}
	i := len(c.list)
	for ; i > 0 && c.list[i-1].at > since; i-- {
		if u := &c.list[i-1]; u.top < 0 {
			u.doubt = true
		}
	}
	if i > 0 && (c.list[i-1].top < 0 || r.kind != kSoftirqDone) {
		doubt := c.list[i-1]
		doubt.at, doubt.top, doubt.doubt = since, -1, true
		c.list = slices.Insert(c.list, i, doubt)
	}
	for i := n - 1; i >= 0 && recs[i].at >= since; i-- {
		if w := &recs[i]; w.wakesUp() && !w.tells && w.cpu == r.cpu {
			w.top, w.ref = i, -1
		}
	}
	c.turn(turn{at: r.at, rec: n, cur: c.cur, top: c.top(), kind: r.kind})
}

// wakesUp reports the wake-up of a thread.
func (r *record) wakesUp() bool {
	switch r.kind {
	case kWaking, kWakeup, kBorn:
		return true
	}
	return false
}
