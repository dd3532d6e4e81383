package order

import "ppscript/runtime/event"

// A window is where a Lost event has the end of its loss.
type window struct {
	derived event.Derived
	slot    [1]event.Value
}

// put attaches the end of the loss to e: the time of the next record of the
// ring, which was written when there was room again, or else that of e itself,
// which the kernel stamped just before it.
func (w *window) put(e *event.Event, next []event.Event) {
	end := e.Time
	for i := range next {
		if t := next[i].Time; t != 0 && next[i].Kind != event.Lost {
			if t < end || end == 0 {
				end = t
			}
			break
		}
	}
	w.set(e, end)
}

func (w *window) set(e *event.Event, end event.Time) {
	w.slot[0] = event.TimeOf(end)
	w.derived.Slots = w.slot[:]
	e.Derived = &w.derived
}
