package join

import "ppscript/runtime/event"

// This file reports begins and ends of pairs to flow.Opens.

// opened reports a start that begins to wait.
func (l *list) opened(n int32, e *event.Event) {
	for _, o := range l.opens {
		o.Opened(n, e)
	}
}

// broke reports a start whose end will not be known; list.unlink reports afterwards that
// it is closed.
func (l *list) broke(n int32, why Reason) {
	if why != Broken && why != Evicted {
		return
	}
	for _, o := range l.opens {
		o.Broke(n)
	}
}

// alone reports an end without a start.
func (l *list) alone(e *event.Event) {
	for _, o := range l.opens {
		o.Alone(e)
	}
}

// Begun returns the start of an open pair; it may use memory for a copy.
func (j *Join) Begun(n int32, memory *event.Event) *event.Event { return j.list.event(n, memory) }

// Begun returns the entry of a call that has not returned.
func (n *Nested) Begun(w int32, memory *event.Event) *event.Event { return n.list.event(w, memory) }
