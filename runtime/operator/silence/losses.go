package silence

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
)

// anyRing is the ring of a loss that may touch all keys.
const anyRing = -1

// maxLosses bounds the kept losses; beyond it two losses and the time between them
// are merged into one.
const maxLosses = 256

// losses are the times in which events were lost.
type losses struct{ list []lossOf }

// A lossOf is the time of a loss in a ring.
type lossOf struct {
	ring int32
	span
}

func (l *losses) add(ring int32, s span) {
	for i := range l.list {
		if o := &l.list[i]; o.ring == ring && s.from <= o.to && o.from <= s.to {
			o.from, o.to = min(o.from, s.from), max(o.to, s.to)
			return
		}
	}
	l.list = append(l.list, lossOf{ring, s})
	if len(l.list) > maxLosses {
		l.join()
	}
}

// join merges the two losses with the least time between them.
func (l *losses) join() {
	slices.SortFunc(l.list, func(a, b lossOf) int { return cmp.Compare(a.from, b.from) })
	best := 1
	for i := 2; i < len(l.list); i++ {
		if l.list[i].from-l.list[i-1].to < l.list[best].from-l.list[best-1].to {
			best = i
		}
	}
	a, b := &l.list[best-1], l.list[best]
	if a.ring != b.ring {
		a.ring = anyRing
	}
	a.to = max(a.to, b.to)
	l.list = slices.Delete(l.list, best, best+1)
}

// touch reports that a loss may have been of events of a key in this time.
func (l *losses) touch(ring int32, s span) bool {
	return slices.ContainsFunc(l.list, func(o lossOf) bool {
		return (o.ring == anyRing || o.ring == ring) && s.overlaps(o.span)
	})
}

// forget forgets the losses that were over before a time.
func (l *losses) forget(until event.Time) {
	l.list = slices.DeleteFunc(l.list, func(o lossOf) bool { return o.to <= until })
}
