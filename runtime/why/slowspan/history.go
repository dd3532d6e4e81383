package slowspan

import (
	"iter"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// This file brings the Explainer of a run that keeps events what it needs for a span. Where slow spans
// follow each other their histories overlap: each event is given to it once.

// held is the history that the Explainer has. The zero value is none.
type held struct {
	from, to event.Time // it was asked for from one time on, and has the events up to the other
	latest   int        // how many of its events are of the very time to
	since    event.Time // since when the timeline had all events
	gaps     []why.Gap  // that were given
}

// history are the events of [from, to], as far as the Explainer does not have them, with the known losses
// that began until then.
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

// onward are the events since those that the Explainer has. It is not so if it lacks older ones that the
// timeline has, if some in between are lost, or if a loss is known now that was not when it was given
// the events of that time.
func (s *Sink) onward(from, to event.Time, gaps []why.Gap) (h why.History, ok bool) {
	d := &s.held
	begin := s.teller.explainer().Since()
	none := begin == d.since && begin > d.from // older ones are nowhere
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

// added are events up to a time of which the first, those of the time to, were given already.
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

// gaps are the losses that are known.
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
