package parquet

import (
	"ppscript/runtime/result"
)

// This file writes slow pairs: a row for each of their events. All pairs of a result are
// in one file.

// pairSlots are the columns of pairs, which precede the columns of all events.
type pairSlots struct {
	number, pair, delay, unfinished, complete *slot // of the pair
	part, since, state, ran, ranComm, hidden  *slot // of the event
	last                                      int64 // pair
}

// pairs returns the columns of pairs, which come first in the file.
func (o *out) pairs() *pairSlots {
	if o.slow == nil {
		at := func(name string) *slot { return o.slot(name, 0) }
		o.slow = &pairSlots{number: at("number"), pair: at("pair"), delay: at("delay"),
			unfinished: at("unfinished"), complete: at("complete_since"), part: at("part"),
			since: at("since"), state: at("state"), ran: at("ran"), ranComm: at("ran_comm"),
			hidden: at("hidden")}
		for _, ns := range []*slot{o.slow.delay, o.slow.complete, o.slow.since, o.slow.ran} {
			ns.first.unit = "ns"
		}
	}
	return o.slow
}

var partNames = [...]string{result.Previous: "before", result.Between: "between", result.After: "after"}

func (s *sink) detail(d *result.Detail) error {
	o, err := s.of(d.Name, "")
	if err != nil {
		return err
	}
	to := o.pairs()
	to.last++
	row := func(part string, l *result.DetailLine) {
		if err == nil {
			s.pairRow(o, d, part, l)
			err = o.next()
		}
	}
	for i := range d.Lines {
		if l := &d.Lines[i]; l.Part == result.Previous {
			row(partNames[l.Part], l)
		}
	}
	row("start", &result.DetailLine{Event: d.Start})
	for i := range d.Lines {
		if l := &d.Lines[i]; l.Part == result.Between {
			row(partNames[l.Part], l)
		}
	}
	if d.End != nil {
		row("end", &result.DetailLine{Event: d.End})
	}
	for i := range d.Lines {
		if l := &d.Lines[i]; l.Part == result.After {
			row(partNames[l.Part], l)
		}
	}
	return err
}

// pairRow writes an event of a pair, or the number of events that are left out.
func (s *sink) pairRow(o *out, d *result.Detail, part string, l *result.DetailLine) {
	f, to := o.file, o.slow
	to.number.signed(f, to.last)
	to.pair.text(f, []byte(d.Pair))
	to.delay.signed(f, d.DelayNS())
	if d.Reason != "" {
		to.unfinished.text(f, []byte(d.Reason))
	}
	if d.Evicted.Some {
		to.complete.signed(f, int64(d.Evicted.Since-d.Start.Time))
	}
	to.part.text(f, []byte(part))
	if l.Event == nil {
		to.hidden.signed(f, int64(l.Hidden))
		return
	}
	to.since.signed(f, int64(l.Event.Time-d.Start.Time))
	if l.State != "" {
		to.state.text(f, []byte(l.State))
	}
	if l.Ran {
		to.ran.signed(f, l.RanNS)
		to.ranComm.text(f, l.RanComm)
	}
	if l.Event.Stream == nil || l.Event.Stream.Schema == nil {
		return
	}
	line := result.Line{Event: l.Event, Stacks: d.Stack != nil}
	if d.Stack != nil {
		line.CallStack = d.Stack(l.Event)
	}
	if d.Marker != nil {
		line.Marker = d.Marker(l.Event)
	}
	s.event(o, &line)
}
