package overlap

import (
	"slices"

	"ppscript/runtime/event"
)

// losses are the times in which events were lost, by their begin.
type losses []loss

type loss struct{ from, to event.Time }

// maxLosses bounds the losses that are kept; if there are more, the first two become one.
const maxLosses = 1 << 10

// add notes a loss; false if it was noted before, since several sources report the same loss.
func (l *losses) add(from, to event.Time) bool {
	for i := len(*l) - 1; i >= 0; i-- {
		if x := &(*l)[i]; x.from == from {
			x.to = max(x.to, to)
			return false
		}
	}
	if len(*l) >= maxLosses {
		(*l)[1].from, (*l)[1].to = min((*l)[0].from, (*l)[1].from), max((*l)[0].to, (*l)[1].to)
		*l = slices.Delete(*l, 0, 1)
	}
	*l = append(*l, loss{from, to})
	return true
}

// since is the begin of the first loss that ends after a time.
func (l losses) since(seen event.Time) (from event.Time, any bool) {
	for _, x := range l {
		if x.to >= seen && (!any || x.from < from) {
			from, any = x.from, true
		}
	}
	return from, any
}

// open reports that a time is within a loss.
func (l losses) open(t event.Time) bool {
	return slices.ContainsFunc(l, func(x loss) bool { return x.from <= t && t < x.to })
}
