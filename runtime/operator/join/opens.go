package join

import "ppscript/runtime/event"

// This file tells others of pairs while they last: from their start to their end.

// opened tells of a start that waits from now on.
func (l *list) opened(n int32, e *event.Event) {
	for _, o := range l.opens {
		o.Opened(n, e)
	}
}

// broke tells of a start whose end cannot be told any more; list.unlink then says that it
// is closed.
func (l *list) broke(n int32, why Reason) {
	if why != Broken && why != Evicted {
		return
	}
	for _, o := range l.opens {
		o.Broke(n)
	}
}

// alone tells of an end without a start.
func (l *list) alone(e *event.Event) {
	for _, o := range l.opens {
		o.Alone(e)
	}
}

// Begun returns the start of an open pair, which may be made in memory.
func (j *Join) Begun(n int32, memory *event.Event) *event.Event { return j.list.event(n, memory) }

// Begun returns the entry of a call that has not returned.
func (n *Nested) Begun(w int32, memory *event.Event) *event.Event { return n.list.event(w, memory) }
