package join

import "ppscript/runtime/event"

// This file shows slow pairs with events that programs of the kernel keep. No event
// leaves the kernel until a slow pair is shown; then the timeline is filled with the
// events up to the pair's end.

// RecentEvents gives access to the newest events, which programs of the kernel
// keep.
type RecentEvents interface {
	// Read returns the events from a time on, in time order, valid until Release. The
	// events are complete from since on; 0 means that none are missing.
	Read(from event.Time) (evs []event.Event, since event.Time)
	Release()
	// Now is the time on the clock of the events.
	Now() event.Time
}

// A filling is what a timeline was filled with.
type filling struct {
	source   RecentEvents // nil: events come by themselves
	from, at event.Time
}

// FillFrom makes the timeline take its events from k.
func (t *Timeline) FillFrom(k RecentEvents) { t.filled, t.begun = filling{source: k}, k.Now() }

// fill brings the events of [from, until].
func (t *Timeline) fill(from, until event.Time) {
	f := &t.filled
	if f.source == nil || f.at > until && f.from <= from {
		return
	}
	for len(t.chunks) > 0 {
		t.drop()
	}
	f.from, f.at, t.droppedAt = from, f.source.Now(), 0
	evs, since := f.source.Read(from)
	for i := range evs {
		t.add(&evs[i])
	}
	f.source.Release()
	t.droppedAt = max(t.droppedAt, since-1)
}

// Due shows the pairs that are complete at a time; event.MaxTime shows all.
func (t *Timeline) Due(now event.Time) { t.due(now) }

// Awaited reports that a pair waits for events after it.
func (t *Timeline) Awaited() bool {
	for _, r := range t.readers {
		if _, waits := r.oldest(); waits {
			return true
		}
	}
	return false
}
