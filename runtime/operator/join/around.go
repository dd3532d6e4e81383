package join

import (
	"iter"

	"ppscript/runtime/event"
)

// This file is a timeline for callers that do not list what happened around a pair, but draw
// conclusions from it.

// Want has the timeline keep events for that many ns before each pair.
func (t *Timeline) Want(before int64) { t.Before = max(t.Before, before) }

// Around are the events of [from, until] in time order, and since when they are complete:
// older ones were pushed out, or came before anybody looked. They live until the next
// event comes, or the next call.
func (t *Timeline) Around(from, until event.Time) (evs iter.Seq[*event.Event], since event.Time) {
	t.fill(from, until)
	return func(yield func(*event.Event) bool) {
		t.between(from, until, yield)
	}, max(t.begun, t.droppedAt+1)
}

// Behind are the events behind a time that are there already: after Around, events that happened until
// it was called. They live as long as those.
func (t *Timeline) Behind(at event.Time) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) { t.between(at+1, event.MaxTime, yield) }
}

// Hand has each event handed to fn, in place of being kept.
func (t *Timeline) Hand(fn func(e *event.Event)) { t.hand = fn }
