package join

import (
	"iter"

	"ppscript/runtime/event"
)

// This file gives access to the timeline for operators that analyse the events around a pair
// instead of listing them.

// Want makes the timeline keep events from that many ns before each pair.
func (t *Timeline) Want(before int64) { t.Before = max(t.Before, before) }

// Around returns the events of [from, until] in time order, and the time since which they
// are complete: older ones may have been evicted, or came before the timeline began. The
// events are valid until the next event or the next call.
func (t *Timeline) Around(from, until event.Time) (evs iter.Seq[*event.Event], since event.Time) {
	t.fill(from, until)
	return func(yield func(*event.Event) bool) {
		t.between(from, until, yield)
	}, max(t.begun, t.droppedAt+1)
}

// Behind returns the kept events later than a time. After Around, these are the events up to its
// call. They are valid as long as Around's.
func (t *Timeline) Behind(at event.Time) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) { t.between(at+1, event.MaxTime, yield) }
}

// Hand makes the timeline pass each event to fn instead of keeping it.
func (t *Timeline) Hand(fn func(e *event.Event)) { t.hand = fn }
