// Package order brings the events of a source downstream: in time order over
// all rings (Merge), or ring after ring where order does not matter (Drain).
//
// Session calls Round after each Poll of the source. Both forms hand out
// pointers into per-ring arrays that view ring memory: nothing is copied, and
// everything handed out is released when Round moves on, so a sink that keeps
// an event copies it.
package order

import "ppscript/runtime/event"

// chunk is how many records of a ring are read between two releases, and how
// many are handed out at a time: enough to amortise the calls, small enough to
// stay in the second-level cache. Of a ring that counts bytes, no more than
// about chunkBytes are held.
const (
	chunk      = 256
	chunkBytes = 64 << 10
)

// Stats counts the records that the merge found out of order.
type Stats struct {
	Events uint64 // samples handed out
	Late   uint64 // older than events that were handed out before them
	// Held counts how often a full ring held up the others, Suspected how
	// often that was given up: then a loss of unknown size is assumed.
	Held      uint64
	Suspected uint64
}

// Add adds the counters of o.
func (s *Stats) Add(o Stats) {
	s.Events += o.Events
	s.Late += o.Late
	s.Held += o.Held
	s.Suspected += o.Suspected
}

// A Feeder hands the events of a source to sink. Final rounds hand out
// everything visible; others may keep back events up to a time that is not
// known to be complete.
type Feeder interface {
	Round(sink func([]*event.Event), final bool)
	Stats() Stats
}
