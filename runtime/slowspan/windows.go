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
}

// NewWindows makes a Windows.
func NewWindows(story *Story, tid int32, ns int64, l Losses) *Windows {
	return &Windows{Losses: l, TID: tid, NS: ns, teller: teller{story: story}}
}

// Events implements flow.Sink.
func (w *Windows) Events(evs []*event.Event) {
	for _, e := range evs {
		if w.from == 0 {
			w.from = e.Time
		}
		for int64(e.Time-w.from) >= w.NS {
			w.explain(w.from + event.Time(w.NS))
		}
		w.teller.add(e)
		w.now = e.Time
	}
}

// Rest has what there is of the last window explained.
func (w *Windows) Rest() {
	if w.from > 0 && w.now > w.from {
		w.explain(w.now)
	}
}

// explain ends a window.
func (w *Windows) explain(to event.Time) {
	w.teller.told(why.Span{From: w.from, To: to, TID: w.TID, Label: "window"}, true)
	w.from = to
}

// Lost implements flow.Sink.
func (w *Windows) Lost(ring int32, _ uint64, from event.Time) { w.teller.lost(from, w.End(ring), true) }
