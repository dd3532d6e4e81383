package order

import "ppscript/runtime/event"

// This file merges the rings of a source by time without copying records.
//
// The question of every merge is when the smallest head may go: a record that
// is older still may be on its way in another ring. Waiting for every ring to
// show something newer stalls on idle rings; waiting a fixed time is wrong
// under load. Instead each ring has two bounds (see event.Ring): the merge of
// a round ends when every ring has been read up to known, and up to there it
// may take records up to visible. So an idle ring never blocks (its bounds
// are equal and already reached), and a record is delayed by one Poll at most.
//
// A ring whose block of decoded records is used up gets another one in the middle
// of a merge. Its memory is released from time to time, after everything handed
// out so far has been sunk.
//
// A loser tree finds the ring with the oldest head. A ring that wins twice is
// read as long as its records are older than the next ring's head: what happens
// on one CPU comes in runs, and a run costs one comparison for each record.
//
// Order within a ring is the ring's own. A record that is older than its
// predecessor in the same ring, or than the last one handed out, is
// counted late and delivered in its place with its time unchanged.
//
// A ring that was full may have lost records behind its last one, which the
// kernel says only with the next record that it can write. Until then nothing
// newer than that last record is handed out, see hold.go.

// A Merge hands out the events of all rings of a source in time order; equal
// times keep the order of the rings.
type Merge struct {
	src    event.Source
	rings  []*cursor
	heads  loserTree
	blocks blocks
	out    []*event.Event
	last   event.Time
	stats  Stats
	holds  holds
	// marks are Lost records that the merge makes itself; they are handed
	// out before the next events.
	marks []event.Event
}

// A cursor is one ring with its decoded, not yet handed out records.
type cursor struct {
	evs     []event.Event // of block
	next, n int
	block   *block
	ring    event.Ring
	index   int32
	// unreleased is how many records have been read since the last Release,
	// when the ring was at position released.
	unreleased int
	released   uint64
	reach
	lastTime event.Time
	hold     ringHold
	group    *group // of a source that lags; nil for others
}

// reach has the bounds of a ring in this round, and how far it has been read.
type reach struct {
	known, visible uint64
	// pastKnown says that everything decoded so far up to known has been
	// handed out.
	pastKnown bool
	// readKnown says that the current block ends at or before known.
	readKnown bool
}

// A grouped ring belongs to a source that may lag behind others.
type grouped interface {
	event.Ring
	// lagGroup returns the rings of that source; nil if it does not lag.
	lagGroup() *group
}

func newCursor(r event.Ring, index int) *cursor {
	c := &cursor{ring: r, index: int32(index)}
	if g, ok := r.(grouped); ok {
		c.group = g.lagGroup()
	}
	return c
}

// NewMerge returns a Merge over src.
func NewMerge(src event.Source) *Merge { return &Merge{src: src} }

// Stats returns the counters.
func (m *Merge) Stats() Stats { return m.stats }

// Limit is the time up to which the last round may have handed out all events;
// it held newer ones back. It is event.MaxTime if nothing was held back.
func (m *Merge) Limit() event.Time { return m.holds.limit }

// Round hands out, in time order, every event that is known to be complete;
// a final round hands out everything visible.
func (m *Merge) Round(sink func([]*event.Event), final bool) {
	rings := m.src.Rings()
	for len(m.rings) < len(rings) {
		i := len(m.rings)
		m.rings = append(m.rings, newCursor(rings[i], i))
	}
	m.blocks.fit(len(rings))
	m.heads.reset()
	m.beginHolds()
	waiting := 0
	for _, c := range m.rings {
		if c.group != nil {
			c.group.busy = 0
		}
	}
	for _, c := range m.rings {
		c.known, c.visible = c.ring.Bounds()
		if final {
			c.known = c.visible
		}
		if c.next == c.n {
			if m.fill(c); c.n == 0 {
				c.release() // events that no sink took
			}
		} else {
			// Events that were kept back last time were visible then.
			c.readKnown = c.ring.Pos() <= c.known
		}
		c.pastKnown = c.exhausted()
		if !c.pastKnown {
			waiting++
		}
		if c.next < c.n {
			m.heads.enter(c)
			if c.group != nil {
				c.group.busy++
			}
		}
		m.look(c, final)
	}
	if !final {
		m.lag()
	}
	m.mark(sink)
	m.heads.build()
	m.heads.limitTo(m.holds.limit)
	h := &m.heads
	stopped := false
	before := uint64(none)
	for waiting > 0 && h.live > 0 {
		if h.winner >= h.stop {
			if stopped = h.stopped(); stopped {
				break
			}
		}
		if len(m.out) >= chunk {
			m.flush(sink)
		}
		leaf := h.leaf()
		l := &h.lanes[leaf]
		m.out = append(m.out, &l.evs[l.next])
		l.next++
		head := l.second
		if leaf == before {
			head = m.run(l, leaf)
		} else if head != none {
			l.second = h.key(l, 1, leaf)
		}
		if head == none {
			c := l.c
			m.refill(c, sink, final)
			l.evs, l.next = c.evs[:c.n], 0
			if head = h.head(leaf); head == none {
				h.live--
			}
			if !c.pastKnown && c.exhausted() {
				c.pastKnown = true
				waiting--
			}
		}
		h.play(head)
		before = leaf
	}
	for i := range m.heads.lanes {
		l := &m.heads.lanes[i]
		l.c.next = l.next
	}
	m.flush(sink)
	m.endHolds(stopped)
}

// run takes records of the ring with the oldest head for as long as they are
// not newer than the head of any other ring, and returns its next head.
//
// Fast path: this loop runs for every record of a run.
func (m *Merge) run(l *lane, leaf uint64) (head uint64) {
	until := m.heads.until()
	n := l.next
	for n < len(l.evs) && l.evs[n].Time <= until {
		m.out = append(m.out, &l.evs[n])
		n++
	}
	l.next = n
	return m.heads.head(leaf)
}

// refill replaces the block of c, of which everything has been handed out.
//
// Memory of the ring is released when that is worth its price: the kernel's
// side of a ring is in another processor's cache.
func (m *Merge) refill(c *cursor, sink func([]*event.Event), final bool) {
	m.blocks.spend(c)
	pos := c.ring.Pos()
	if c.unreleased >= chunk || pos-c.released >= chunkBytes || pos >= c.known && !c.pastKnown ||
		pos >= c.visible {
		m.flush(sink)
		c.release()
	}
	if m.fill(c); c.n > 0 {
		return
	}
	if c.ring.Pos() > c.released {
		m.flush(sink)
		c.release()
	}
	if !final {
		m.ranDry(c)
		m.dry(c)
		m.heads.limitTo(m.holds.limit)
	}
}

func (c *cursor) release() {
	c.ring.Release()
	c.unreleased, c.released = 0, c.ring.Pos()
}

func (m *Merge) flush(sink func([]*event.Event)) {
	if len(m.out) == 0 {
		return
	}
	last := m.last
	for _, e := range m.out {
		if e.Kind == event.Sample {
			m.stats.Events++
		}
		// A loss begins with the record before it, which is not out of order.
		if e.Time < last && e.Kind != event.Lost {
			m.stats.Late++
		}
		last = max(last, e.Time)
	}
	m.last = last
	sink(m.out)
	m.out = m.out[:0]
	m.blocks.reuse()
}

// fill decodes the next block: up to known first, so that a block never
// straddles it.
func (m *Merge) fill(c *cursor) {
	for pos := c.ring.Pos(); c.n == 0 && pos < c.visible; {
		until := c.visible
		if c.readKnown = pos < c.known; c.readKnown {
			until = c.known
		}
		m.blocks.read(c, until)
		was := pos
		if pos = c.ring.Pos(); pos == was {
			return
		}
	}
}

// exhausted reports that every record before known has been handed out.
func (c *cursor) exhausted() bool {
	if c.next < c.n && c.readKnown {
		return false
	}
	return c.ring.Pos() >= c.known
}
