package perf

import (
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// An Opened is one attr as passed to the kernel, with the ids of all
// descriptors that were opened with it. A recording of the rings must list
// them.
type Opened struct {
	Attr   unix.PerfEventAttr
	IDs    []uint64
	Stream *event.Stream // nil for the dummy event, which only has side records
}

// Opened lists the opened attrs, in the order of Streams, the SideBand
// event last.
func (s *Source) Opened() []Opened {
	var all []Opened
	for _, m := range s.open.members(false) {
		o := Opened{Attr: m.attr}
		s.open.strip(&o.Attr)
		for _, f := range s.open.fds {
			if f.stream == m.index {
				o.IDs = append(o.IDs, f.id)
			}
		}
		if len(o.IDs) == 0 {
			continue // an optional event that did not open
		}
		if m.index >= 0 {
			o.Stream = s.byEvent[m.index]
		}
		all = append(all, o)
	}
	// The dummy event may be the first in members.
	slices.SortStableFunc(all, func(a, b Opened) int {
		switch {
		case a.Stream == nil && b.Stream != nil:
			return 1
		case a.Stream != nil && b.Stream == nil:
			return -1
		}
		return 0
	})
	return all
}
