package join

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file stands for a join that programs of the kernel run. Its pairs and unpaired
// events arrive from the kernel, and go on like the output of a join in ppscript.

// An Arrived hands on the output of a join that programs run. The programs
// count the join's losses, except for records that did not fit into a buffer.
type Arrived struct {
	spec Spec
	next flow.Sink
	// streams are the input streams of the programs, in the programs' order, which the
	// source numbers differently.
	streams []*event.Stream
	from    Programs

	frame    expr.Frame
	errs     flow.Errors
	stats    Stats
	reported uint64 // broken pairs that Loss has reported
	newest   event.Time
	out      [1]*event.Event
}

// Programs gives access to the programs that run a join.
type Programs struct {
	// Waiting calls a function for each event that waits for a partner at some time, or
	// was given up, as an unpaired event for a reason.
	Waiting func(why Reason, at event.Time, fn func(e *event.Event))
	// Missed lists the times up to now in which programs missed events of the join,
	// the oldest first; valid until the next call.
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

// whole returns the pairs during which no program missed an event. For other pairs it is
// not certain that start and end belong together.
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

// key evaluates the join's key on one of its events.
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

// completeUnpaired sets the fields of an unpaired event that programs do not
// send.
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

// Lost implements flow.Sink. A loss of finished pairs breaks no other pair.
func (a *Arrived) Lost(ring int32, n uint64, t event.Time) { a.next.Lost(ring, n, t) }

// End hands out the events that wait in programs, and the pairs that wait for events
// after them.
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

// hand hands out the events that wait in programs, or were dropped there.
func (a *Arrived) hand(why Reason, now event.Time) {
	a.from.Waiting(why, max(a.newest, now), func(e *event.Event) {
		a.completeUnpaired(e)
		a.out[0] = e
		a.spec.To.Events(a.out[:])
	})
}

// Loss counts the losses that programs do not count themselves.
func (a *Arrived) Loss() event.Loss {
	l := event.Loss{Broken: a.stats.Broken - a.reported}
	a.reported = a.stats.Broken
	return l
}

func (a *Arrived) Stats() Stats            { return a.stats }
func (a *Arrived) Failures() *flow.Errors  { return &a.errs }
func (a *Arrived) Ended(int32, event.Time) {}
func (a *Arrived) Began(int32)             {}
