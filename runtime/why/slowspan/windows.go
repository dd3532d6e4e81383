package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// A Windows explains all the time of a thread, without pairs, in windows of equal length.
// It implements flow.Sink, and gets the events of the history.
type Windows struct {
	Losses
	TID int32
	NS  int64 // length of a window

	teller teller
	from   event.Time // begin of the window; 0 before the first event
	now    event.Time // time of the last event

	// found is the state of the thread at the last look, and foundAt the time of that look; 0 if it
	// did not sleep then, or there was no look. quiet explains windows in which it slept all the
	// time.
	found   why.Standing
	foundAt event.Time
	quiet   teller
}

// NewWindows makes a Windows.
func NewWindows(story *Story, tid int32, ns int64, l Losses) *Windows {
	return &Windows{Losses: l, TID: tid, NS: ns, teller: teller{story: story}, quiet: teller{story: story}}
}

// Events implements flow.Sink.
func (w *Windows) Events(evs []*event.Event) {
	for _, e := range evs {
		if w.from == 0 {
			w.from = e.Time
			w.look()
		}
		for int64(e.Time-w.from) >= w.NS {
			w.explain(w.from + event.Time(w.NS))
		}
		w.teller.add(e)
		w.now = e.Time
	}
}

// look reads the state of the thread, which has no events while it sleeps, and reports whether it
// has slept since the last look.
func (w *Windows) look() (slept bool) {
	look := w.teller.story.Facts.Standing
	if look == nil {
		return false
	}
	s, at, ok := look(w.TID)
	if slept = ok && w.foundAt > 0 && s == w.found; slept {
		return true
	}
	if w.found, w.foundAt = s, at; !ok || !s.Asleep {
		w.foundAt = 0
	}
	return false
}

// Rest explains the last window up to the last event.
func (w *Windows) Rest() {
	if w.from > 0 && w.now > w.from {
		w.explain(w.now)
	}
}

// explain explains the window and begins the next one. If the thread slept during all of it, losses
// do not matter. If it has slept since a look within the window, it is assumed to have slept from
// the window's begin, unless it has events.
func (w *Windows) explain(to event.Time) {
	span := why.Span{From: w.from, To: to, TID: w.TID, Label: "window"}
	since, with := w.foundAt, &w.teller
	switch slept := w.look(); {
	case slept && since <= w.from:
		with = &w.quiet
		with.explainer().Reset(w.from)
		with.x.Asleep(w.TID, w.from, w.found)
	case slept && since <= to:
		with.explainer().Asleep(w.TID, w.from, w.found)
	}
	w.teller.story.add(with.tell(span), verdict{kind: slow})
	w.from = to
}

// Lost implements flow.Sink.
func (w *Windows) Lost(ring int32, _ uint64, from event.Time) { w.teller.lost(from, w.End(ring), true) }
