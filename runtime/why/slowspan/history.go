package slowspan

import (
	"iter"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// This file passes the history of a span from the timeline to the Explainer. The histories of
// successive slow spans overlap, and each event is passed only once.

// held describes the history that the Explainer has. The zero value is none.
type held struct {
	from, to event.Time // its bounds: it was requested from, and has the events up to
	latest   int        // number of its events at the time to
	since    event.Time // time since which the timeline had all events
	gaps     []why.Gap  // the losses that were passed
}

// history returns the events in [from, to] that the Explainer does not have, and the known losses
// that began until to.
func (s *Sink) history(from, to event.Time, known []why.Gap) why.History {
	var gaps []why.Gap
	for _, g := range known {
		if g.From <= to {
			gaps = append(gaps, g)
		}
	}
	h, ok := s.onward(from, to, gaps)
	if !ok {
		events, since := s.Timeline.Around(from, to)
		s.held = held{from: from, since: since}
		h = why.History{Events: s.held.added(events, to), Since: since, Gaps: gaps}
	}
	s.held.gaps = gaps
	h.After = s.Timeline.Behind(to)
	return h
}

// onward returns the events after the events that the Explainer has. ok is false if the history
// must be passed again: the Explainer lacks older events that the timeline has, events in between
// are lost, or a loss within the passed events is known only now.
func (s *Sink) onward(from, to event.Time, gaps []why.Gap) (h why.History, ok bool) {
	d := &s.held
	begin := s.teller.explainer().Since()
	none := begin == d.since && begin > d.from // there are no older events
	if d.to == 0 || from > d.to || from < max(d.from, begin) && !none {
		return h, false
	}
	h = why.History{Onward: true, Old: from}
	for _, g := range gaps {
		switch {
		case slices.Contains(d.gaps, g):
		case g.From <= d.to:
			return h, false
		default:
			h.Gaps = append(h.Gaps, g)
		}
	}
	if to <= d.to {
		return h, true
	}
	events, since := s.Timeline.Around(d.to, to)
	if since > d.to {
		return h, false
	}
	h.Events = d.added(events, to)
	return h, true
}

// added returns events without the first ones, at the time d.to, that were already passed,
// and moves d.to.
func (d *held) added(events iter.Seq[*event.Event], to event.Time) iter.Seq[*event.Event] {
	given, at := d.latest, d.to
	if to > d.to {
		d.latest = 0
	}
	d.to = max(d.to, to)
	return func(yield func(*event.Event) bool) {
		for e := range events {
			if e.Time == at && given > 0 {
				given--
				continue
			}
			if e.Time == to {
				d.latest++
			}
			if !yield(e) {
				return
			}
		}
	}
}

// gaps returns the known losses.
func (s *Sink) gaps() []why.Gap {
	gaps := s.teller.gaps
	if s.Missed != nil {
		gaps = slices.Clone(gaps)
		for _, g := range s.Missed() {
			gaps = append(gaps, why.Gap{CPU: -1, From: g.From, To: g.To})
		}
	}
	return gaps
}
