package join

import "ppscript/runtime/event"

// evict removes an entry from anywhere in its stack.
func (n *Nested) evict(w int32) {
	n.tally.stats.Evicted++
	n.remove(w, Evicted, n.list.at[n.list.newest()].time)
}

func (n *Nested) remove(w int32, why Reason, t event.Time) {
	n.list.broke(w, why)
	if n.spec.Streams != nil {
		n.leaves(n.list.event(w, &n.matches.gone), why, t)
	}
	if top := n.rows.at[n.list.at[w].row]; top == w {
		n.pop(w)
	} else {
		for n.entries[top].below != w {
			top = n.entries[top].below
		}
		n.entries[top].below = n.entries[w].below
		n.list.unlink(w)
	}
	n.list.free(w)
}

// Lost implements flow.Sink: as of a Join.
func (n *Nested) Lost(ring int32, count uint64, t event.Time) {
	n.list.each(func(w int32) {
		if !n.spec.ByRing || n.list.at[w].ring == ring {
			n.tally.stats.Broken++
			n.remove(w, Broken, t)
		}
	})
	if !n.spec.ByRing && n.spec.LossEnd != nil {
		n.clock.closed = n.clock.losses.add(ring, n.spec.LossEnd(ring))
	}
	n.next.Lost(ring, count, t)
	if n.spec.To != nil {
		n.spec.To.Lost(ring, count, t)
	}
}

// End ends an interval or the run, like Join.End.
func (n *Nested) End(final bool, now event.Time) {
	if t := n.spec.Timeline; t != nil && final {
		t.due(event.MaxTime)
	}
	if n.spec.Streams == nil || !final && !n.spec.WithWaiting {
		return
	}
	why := Waits
	if final {
		why = Exit
	}
	n.list.each(func(w int32) { n.leaves(n.list.event(w, &n.matches.gone), why, max(n.clock.now, now)) })
}

// leaves hands out an event that stays without a partner.
func (n *Nested) leaves(e *event.Event, why Reason, t event.Time) {
	if s := n.spec.Streams[e.Stream.Index]; s != nil {
		n.unpaired.pair.fill(e, s, n.spec.In[e.Stream.Index].Key, why, t)
		n.unpaired.out[0] = &n.unpaired.pair.ev
		n.spec.To.Events(n.unpaired.out[:])
	}
}
