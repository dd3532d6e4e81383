package why

import "slices"

// This file tracks the interrupt that a CPU serves. After a loss, an interrupt whose begin was lost
// may be being served, until an event of the CPU excludes that, or the end of the interrupt
// confirms it. If a begin or an end is missing although no loss is known, the next event shows
// that, too: then the times in which the interrupt may have had the CPU are marked as in doubt.

// ofThread reports whether an event cannot happen within an interrupt. Softirqs count as
// well, since they do not begin within others.
func (r *record) ofThread() bool {
	switch r.kind {
	case kSwitch, kEnter, kExit, kFault, kSoftirq:
		return true
	}
	return false
}

// isPlain marks that no unknown interrupt is being served, so that doubts are
// resolved.
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

// interruptBegins begins an interrupt with record r, number n.
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

// excludes reports whether interrupt r cannot begin while interrupt open is being served. Softirqs
// cannot begin within any; handlers of hard interrupts may call handlers of other numbers, for
// chained interrupts.
func (r *record) excludes(open *record) bool {
	switch {
	case r.kind == kSoftirq:
		return true
	case open.kind == kSoftirq:
		return false
	}
	return open.kind != kIRQ || r.kind != kIRQ || open.a == r.a
}

// interruptDone ends an interrupt. If its begin was lost, it has lasted since the
// loss.
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

// endsWith reports whether record end ends the interrupt that r begins.
func (r *record) endsWith(end *record) bool {
	if r.kind != end.kind-1 {
		return false
	}
	if r.kind == kVector {
		return r.name == end.name
	}
	return r.a == end.a
}

// outside reports whether an event cannot happen within an interrupt, or its flags
// say that it did not.
func (r *record) outside() bool {
	switch r.kind {
	case kSwitch, kEnter, kExit:
		return true
	case kWaking, kWakeup:
		return r.tells && r.inIRQ == inThread
	}
	return false
}

// surely records the time of an event that confirms the known state of interrupts.
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

// unseenEnd ends the open interrupts of a CPU, except for the first keep ones, before record r,
// which cannot be within them. Their ends were not observed, so the times since their begins are in
// doubt.
//
// Slow path: rare; other BPF programs can suppress events of perf.
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

// unseenBegin handles the end r, number n, of an interrupt whose begin was not observed: the times
// since the last event that excludes the interrupt are in doubt.
func (c *cpu) unseenBegin(recs []record, n int32, r *record) {
	since := c.sure
	if r.kind == kSoftirqDone {
		since = c.sureSoft // hard interrupts do not exclude a softirq around them
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

// wakesUp reports whether the record is a wake-up.
func (r *record) wakesUp() bool {
	switch r.kind {
	case kWaking, kWakeup, kBorn:
		return true
	}
	return false
}
