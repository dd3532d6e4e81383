package order

import "ppscript/runtime/event"

// A window holds the end of a loss, which a Lost event points to.
type window struct {
	derived event.Derived
	slot    [1]event.Value
}

// put sets the end of the loss e: the time of the ring's next record, which was
// written when there was room again, or else the time of e itself, which the
// kernel wrote just before.
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
