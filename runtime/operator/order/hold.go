package order

import (
	"math"
	"time"

	"ppscript/runtime/event"
)

// This file holds back events that may lie inside a loss that has not been
// reported yet.
//
// When a ring is full, the kernel drops records and says so with the next one
// that it can write. Merging the other rings meanwhile hands out events from
// inside the loss, and a join would relate them across it: A in ring 1, [the
// end of A and another A lost in ring 0], an end in ring 1. So events that
// are newer than the last record of a full ring wait until that ring shows
// another one.
//
// That is bounded, since the ring's CPU may have nothing to say for hours:
// after holdTime, or when another ring fills up meanwhile, the merge goes on,
// and makes a loss of unknown size of it: a Lost record with count 0 whose end
// is open. It is closed when a round has handed out all that is known, because
// everything that was in flight when the ring was emptied is by then.

// A tight is a ring that can be full.
type tight interface {
	// Tight reports that there was so little room behind the last visible
	// record that records may have been lost there.
	Tight() bool
}

// holdTime is how long a ring that was full may hold up the others.
const holdTime = 100 * time.Millisecond

// holds is the state of all rings that hold up the merge.
type holds struct {
	// limit is the time up to which events may go.
	limit event.Time
	count int
	// now is time.Now; it is only asked while a ring is held.
	now func() time.Time
}

// ringHold is the state of one ring: whether it holds up the others, and since when.
type ringHold struct {
	tight tight // nil if the ring cannot be full
	known bool  // tight has been looked for
	on    bool  // events later than its last record are held back
	open  bool  // given up: a loss without end has been handed out
	since time.Time
	// settled says that a round since then was not held up by others: all
	// events before it have been handed out.
	settled bool
}

// beginHolds begins a round.
func (m *Merge) beginHolds() {
	m.holds.limit = math.MaxInt64
	if m.holds.now == nil {
		m.holds.now = time.Now
	}
}

// look decides about a ring at the begin of a round.
func (m *Merge) look(c *cursor, final bool) {
	h := &c.hold
	if !h.known {
		h.tight, _ = c.ring.(tight)
		h.known = true
	}
	if h.open && (h.settled || c.next < c.n || final) {
		// All events in flight have been handed out, or the ring itself tells
		// of them: the loss is over.
		h.open = false
		m.addMark(c, m.last, m.last)
	}
	if h.tight == nil {
		return
	}
	if h.on && (c.next < c.n || final) {
		h.on = false // there is a record behind, the loss is told in front of it
		m.holds.count--
	}
	if h.on {
		if m.holds.now().Sub(h.since) < holdTime && !m.crowded() {
			m.holds.limit = min(m.holds.limit, c.lastTime)
			return
		}
		h.on, h.open, h.settled = false, true, false
		m.holds.count--
		m.stats.Suspected++
		m.addMark(c, c.lastTime, math.MaxInt64)
		return
	}
	if c.next == c.n && !final {
		m.ranDry(c)
	}
}

// ranDry holds the others up if c, of which everything has been handed out,
// may have lost something behind.
func (m *Merge) ranDry(c *cursor) {
	h := &c.hold
	if h.tight == nil || h.on || h.open || c.ring.Pos() < c.visible || !h.tight.Tight() || len(m.rings) == 1 {
		return
	}
	h.on, h.since = true, m.holds.now()
	m.holds.count++
	m.stats.Held++
	m.holds.limit = min(m.holds.limit, c.lastTime)
}

// crowded reports that a ring that is being held up is full itself: it would
// lose more than holding it up can win.
func (m *Merge) crowded() bool {
	for _, c := range m.rings {
		if h := &c.hold; !h.on && h.tight != nil && c.next < c.n && h.tight.Tight() {
			return true
		}
	}
	return false
}

// addMark makes a loss of unknown size.
func (m *Merge) addMark(c *cursor, from, until event.Time) {
	e := event.Event{Kind: event.Lost, Time: from, PID: -1, TID: -1, CPU: -1, Ring: c.index}
	new(window).set(&e, until)
	m.marks = append(m.marks, e)
}

// mark hands out the losses that look has found.
func (m *Merge) mark(sink func([]*event.Event)) {
	if len(m.marks) == 0 {
		return
	}
	for i := range m.marks {
		m.out = append(m.out, &m.marks[i])
	}
	sink(m.out)
	m.out, m.marks = m.out[:0], m.marks[:0]
}

// stallTime is how long a source that lags may be silent. Senders of events
// say ten times a second how far they are.
const stallTime = 2 * time.Second

// lag holds the others up while a lagging source has no events to hand out.
func (m *Merge) lag() {
	for _, c := range m.rings {
		g := c.group
		if g == nil || !g.waits {
			continue
		}
		if g.busy > 0 || g.lastOutput.IsZero() {
			g.lastOutput = m.holds.now()
		}
		if g.busy == 0 && m.holds.now().Sub(g.lastOutput) < stallTime {
			m.holds.limit = min(m.holds.limit, g.last)
		}
	}
}

// dry notes that all visible records of c have been handed out. When that is so
// for all rings of a lagging source, the others must wait for it.
func (m *Merge) dry(c *cursor) {
	g := c.group
	if g == nil {
		return
	}
	g.last = max(g.last, c.lastTime)
	if g.busy--; g.busy == 0 && g.waits {
		m.holds.limit = min(m.holds.limit, g.last)
	}
}

// endHolds ends a round. stopped says that it was held up.
func (m *Merge) endHolds(stopped bool) {
	if stopped {
		return
	}
	for _, c := range m.rings {
		c.hold.settled = c.hold.open
	}
}
