package join

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file is a join that programs do: its pairs, and its events without a partner,
// arrive from the kernel, and go on as the pairs and events of a join that runs here do.

// An Arrived hands on what programs make as a join. Programs tell of its losses
// themselves, but for records that did not fit into a buffer.
type Arrived struct {
	spec Spec
	next flow.Sink
	// streams are the streams of the events that programs take, in their order: the source
	// knows its own.
	streams []*event.Stream
	from    Programs

	frame    expr.Frame
	errs     flow.Errors
	stats    Stats
	reported uint64 // of these, broken ones
	newest   event.Time
	out      [1]*event.Event
}

// Programs gives access to the programs that do the work of a join.
type Programs struct {
	// Waiting calls a function for each event that waits for a partner at some time, or
	// was given up, as an unpaired event for a reason.
	Waiting func(why Reason, at event.Time, fn func(e *event.Event))
	// Missed are the times in which programs missed events of the join until now, the
	// oldest first; valid until the next call.
	Missed func() []Gap
}

// A Gap is a time in which events may be missing.
type Gap struct{ From, To event.Time }

// NewArrived hands the pairs on to next.
func NewArrived(spec Spec, next flow.Sink, streams []*event.Stream, from Programs) *Arrived {
	return &Arrived{spec: spec, next: next, streams: streams, from: from}
}

// Events implements flow.Sink.
//
// Fast path: this runs for every pair that leaves the kernel.
func (a *Arrived) Events(evs []*event.Event) {
	if gaps := a.from.Missed(); len(gaps) > 0 {
		if evs = a.whole(evs, gaps); len(evs) == 0 {
			return
		}
	}
	for _, e := range evs {
		d := e.Derived
		start, end := a.streams[d.Start.Stream.Index], a.streams[d.End.Stream.Index]
		d.Start.Stream, d.End.Stream = start, end
		switch {
		case a.spec.NeedKey:
			d.Slots[0] = a.key(d.End)
		case !a.spec.Nested:
			d.Slots = nil
		}
	}
	a.stats.Pairs += uint64(len(evs))
	a.next.Events(evs)
}

// whole are the pairs between whose events no program missed one: of others nobody knows
// whether their events belong together.
//
// Slow path: programs miss few events.
func (a *Arrived) whole(evs []*event.Event, gaps []Gap) []*event.Event {
	return slices.DeleteFunc(evs, func(e *event.Event) bool {
		began := e.Derived.Start.Time
		for d := e.Derived.Start.Derived; d != nil && d.Start != nil; d = d.Start.Derived {
			began = d.Start.Time
		}
		for _, g := range slices.Backward(gaps) {
			switch {
			case g.To < began:
				return false
			case g.From <= e.Time:
				a.stats.Broken++
				return true
			}
		}
		return false
	})
}

// key is the key of an event of the join.
func (a *Arrived) key(e *event.Event) event.Value {
	a.frame.Reset(e)
	v := a.spec.In[e.Stream.Index].Key.Value(&a.frame)
	if a.frame.Err != nil {
		a.errs.Note(&a.frame)
		a.frame.Err = nil
	}
	return v
}

// UnpairedSink is the sink of events without a partner.
func (a *Arrived) UnpairedSink() flow.Sink { return (*arrivedLeft)(a) }

type arrivedLeft Arrived

// Events implements flow.Sink.
func (l *arrivedLeft) Events(evs []*event.Event) {
	for _, e := range evs {
		e.Derived.Start.Stream = l.streams[e.Derived.Start.Stream.Index]
		(*Arrived)(l).completeUnpaired(e)
	}
	l.spec.To.Events(evs)
}

// completeUnpaired completes an event without a partner.
func (a *Arrived) completeUnpaired(e *event.Event) {
	d := e.Derived
	if Reason(d.Slots[SlotReason].Int()) == Broken {
		a.stats.Broken++
	}
	d.Slots[SlotReason] = reasonValues[d.Slots[SlotReason].Int()]
	d.Slots[SlotKey] = a.key(d.Start)
	a.newest = max(a.newest, e.Time)
}

// Lost implements flow.Sink.
func (l *arrivedLeft) Lost(ring int32, n uint64, t event.Time) { l.spec.To.Lost(ring, n, t) }

// Lost implements flow.Sink. What is lost behind the join breaks no pair.
func (a *Arrived) Lost(ring int32, n uint64, t event.Time) { a.next.Lost(ring, n, t) }

// End hands out what waits in programs, and the pairs that wait for events after them.
func (a *Arrived) End(final bool, now event.Time) {
	if final && a.spec.Timeline != nil {
		a.spec.Timeline.Due(event.MaxTime)
	}
	if a.spec.Streams == nil {
		return
	}
	a.hand(Evicted, now)
	switch {
	case final:
		a.hand(Exit, now)
	case a.spec.WithWaiting:
		a.hand(Waits, now)
	}
}

// hand hands out what waits in programs, or was given up there.
func (a *Arrived) hand(why Reason, now event.Time) {
	a.from.Waiting(why, max(a.newest, now), func(e *event.Event) {
		a.completeUnpaired(e)
		a.out[0] = e
		a.spec.To.Events(a.out[:])
	})
}

// Loss is what programs do not know of.
func (a *Arrived) Loss() event.Loss {
	l := event.Loss{Broken: a.stats.Broken - a.reported}
	a.reported = a.stats.Broken
	return l
}

func (a *Arrived) Stats() Stats            { return a.stats }
func (a *Arrived) Failures() *flow.Errors  { return &a.errs }
func (a *Arrived) Ended(int32, event.Time) {}
func (a *Arrived) Began(int32)             {}
