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
// A ring whose array is used up is refilled in the middle of a merge; its
// memory is released then, after everything handed out so far has been sunk.
//
// A tournament finds the ring with the oldest head. That ring is read as long as
// its records are older than the next ring's head: what happens on one CPU comes
// in runs, and a run costs one comparison for each record.
//
// Order within a ring is the ring's own. A record that is older than its
// predecessor in the same ring, or than what was handed out already, is
// counted late and delivered in its place with its time unchanged.
//
// A ring that was full may have lost records behind its last one, which the
// kernel says only with the next record that it can write. Until then nothing
// newer than that last record is handed out, see hold.go.

// A Merge hands out the events of all rings of a source in time order; equal
// times keep the order of the rings.
type Merge struct {
	src   event.Source
	rings []*cursor
	heads tournament
	out   []*event.Event
	last  event.Time
	stats Stats
	holds holds
	// marks are Lost records that the merge makes itself; they are handed
	// out before the next events.
	marks []event.Event
}

// A cursor is one ring with its decoded, not yet handed out records.
type cursor struct {
	ring           event.Ring
	index          int32
	evs            []event.Event
	next, n        int
	known, visible uint64
	// pastKnown says that everything decoded so far up to known has been
	// handed out.
	pastKnown bool
	// readKnown says that the current chunk ends at or before known.
	readKnown bool
	lastTime  event.Time
	held      held
	group     *group   // of a source that lags; nil for others
	windows   []window // of the Lost records in evs
}

// NewMerge returns a Merge over src.
func NewMerge(src event.Source) *Merge { return &Merge{src: src} }

// Stats returns the counters.
func (m *Merge) Stats() Stats { return m.stats }

// Round hands out, in time order, every event that is known to be complete;
// a final round hands out everything visible.
func (m *Merge) Round(sink func([]*event.Event), final bool) {
	rings := m.src.Rings()
	for len(m.rings) < len(rings) {
		i := len(m.rings)
		c := &cursor{ring: rings[i], index: int32(i), evs: make([]event.Event, max(minChunk, min(chunk, allChunks/len(rings))))}
		if p, ok := rings[i].(*partRing); ok {
			c.group = p.part.group
		}
		m.rings = append(m.rings, c)
	}
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
			c.fill()
		} else {
			// What was kept back last time was visible then.
			c.readKnown = c.ring.Pos() <= c.known
		}
		c.pastKnown = c.done()
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
	stopped := false
	for waiting > 0 && m.heads.live > 0 {
		if stopped = m.heads.winner.time > m.holds.limit; stopped {
			break
		}
		c := m.heads.top()
		m.run(c)
		if c.next == c.n {
			// The array is about to be overwritten: sink what points into it.
			m.flush(sink)
			c.ring.Release()
			c.fill()
			if c.next == c.n && !final {
				m.ranDry(c)
				m.dry(c)
			}
		}
		if !c.pastKnown && c.done() {
			c.pastKnown = true
			waiting--
		}
		m.heads.play(c)
	}
	m.flush(sink)
	m.endHolds(stopped)
}

// run takes records of c, which has the oldest head, for as long as they are not
// newer than the head of any other ring.
//
// Fast path: this loop runs for every record.
func (m *Merge) run(c *cursor) {
	until := min(m.holds.limit, m.heads.until())
	evs := c.evs[c.next:c.n]
	n := 0
	last := m.last
	for n < len(evs) {
		e := &evs[n]
		if e.Time > until && n > 0 {
			break // the first goes in any case: it is the oldest of all
		}
		n++
		if e.Kind == event.Sample {
			m.stats.Events++
		}
		if e.Time < last {
			m.stats.Late++
		} else {
			last = e.Time
		}
		m.out = append(m.out, e)
	}
	m.last = last
	c.next += n
}

func (m *Merge) flush(sink func([]*event.Event)) {
	if len(m.out) > 0 {
		sink(m.out)
		m.out = m.out[:0]
	}
}

// fill decodes the next chunk: up to known first, so that a chunk never
// straddles it.
func (c *cursor) fill() {
	c.next, c.n = 0, 0
	pos := c.ring.Pos()
	until := c.visible
	if c.readKnown = pos < c.known; c.readKnown {
		until = c.known
	}
	if pos >= until {
		return
	}
	c.n = c.ring.Read(c.evs, until)
	c.date(c.evs[:c.n])
}

// date stamps what has no time of its own, and losses with their begin.
func (c *cursor) date(evs []event.Event) {
	n := 0
	for i := range evs {
		e := &evs[i]
		e.Ring = c.index
		if e.Kind == event.Lost {
			if n == len(c.windows) {
				// Windows are pointed to: they do not move.
				c.windows = append(make([]window, 0, 2*n+4), c.windows...)[:n+1]
			}
			c.windows[n].put(e, evs[i+1:])
			n++
			// A loss begins right after the record before it; its own
			// time stamp is when the kernel could write again.
			e.Time = c.lastTime
		} else if e.Time == 0 {
			// Records without a time stamp stay beside their neighbours.
			e.Time = c.lastTime
		}
		c.lastTime = e.Time
	}
}

// head is the time of the next record.
func (c *cursor) head() event.Time { return max(c.evs[c.next].Time, 0) }

// done reports that every record before known has been handed out.
func (c *cursor) done() bool {
	if c.next < c.n && c.readKnown {
		return false
	}
	return c.ring.Pos() >= c.known
}
