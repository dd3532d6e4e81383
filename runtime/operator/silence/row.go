package silence

import (
	"slices"

	"ppscript/runtime/event"
)

// A span is a time between two events.
type span struct{ from, to event.Time }

// overlaps reports that some time lies in both.
func (s span) overlaps(o span) bool { return s.from < o.to && o.from < s.to }

// A row has the times of a key's events: from first to last, except for the
// gaps, which are longer than the bound and in time order.
type row struct {
	first, last event.Time
	gaps        []span
	ring        int32 // of the first event
}

// add adds an event that does not simply prolong the last stretch. It returns
// the change of the number of gaps.
func (r *row) add(t event.Time, than int64) int {
	long := func(from, to event.Time) bool { return int64(to-from) > than }
	before := len(r.gaps)
	switch {
	case t > r.last:
		if long(r.last, t) {
			r.gaps = append(r.gaps, span{r.last, t})
		}
		r.last = t
	case t < r.first:
		if long(t, r.first) {
			r.gaps = slices.Insert(r.gaps, 0, span{t, r.first})
		}
		r.first = t
	default:
		i, _ := slices.BinarySearchFunc(r.gaps, t, func(g span, t event.Time) int {
			if g.to <= t {
				return -1
			}
			return 1
		})
		if i == len(r.gaps) || t <= r.gaps[i].from {
			break // it lies in a stretch of events
		}
		var parts []span
		for _, part := range []span{{r.gaps[i].from, t}, {t, r.gaps[i].to}} {
			if long(part.from, part.to) {
				parts = append(parts, part)
			}
		}
		r.gaps = slices.Replace(r.gaps, i, i+1, parts...)
	}
	return len(r.gaps) - before
}

// free lists the times without events, including the times before the first and
// after the last event.
func (r *row) free() []span {
	all := append([]span{{minTime, r.first}}, r.gaps...)
	return append(all, span{r.last, event.MaxTime})
}

// merge adds another reader's row of the same key. It returns the change of the
// number of gaps.
func (r *row) merge(o *row, than int64) int {
	before := len(r.gaps)
	mine, others := r.free(), o.free()
	r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	var gaps []span
	for len(mine) > 0 && len(others) > 0 {
		both := span{max(mine[0].from, others[0].from), min(mine[0].to, others[0].to)}
		if both.from >= r.first && both.to <= r.last && int64(both.to-both.from) > than {
			gaps = append(gaps, both)
		}
		if mine[0].to < others[0].to {
			mine = mine[1:]
		} else {
			others = others[1:]
		}
	}
	r.gaps = gaps
	return len(r.gaps) - before
}
