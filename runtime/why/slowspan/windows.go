package slowspan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// A Windows explains all the time of a thread, in windows of one length: there is no pair
// to wait for. It takes the events of the history, and implements flow.Sink.
type Windows struct {
	Losses
	TID int32
	NS  int64 // the length

	teller teller
	from   event.Time // of the window; 0 before the first event
	now    event.Time // of the last event

	// found is how the thread was when it was looked at last, and at what time that was; 0 is never,
	// or it did not sleep. quiet tells of times in which it slept.
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

// look finds out how the thread is, of which no event tells while it sleeps, and reports that it has slept
// since the last look.
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

// Rest has what there is of the last window explained.
func (w *Windows) Rest() {
	if w.from > 0 && w.now > w.from {
		w.explain(w.now)
	}
}

// explain ends a window. Of one in which the thread slept all the time, losses hide nothing. Did it
// so since its first look, which was in the window, it did before, unless an event tells otherwise.
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
