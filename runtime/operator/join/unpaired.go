package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// This file hands out the events that stay without a partner. For each it makes a
// derived event, whose Start is the event itself (even if it is an end of the join),
// with its age and the reason why it left.

// The slots of an unpaired event.
const (
	SlotAge    = iota // ns since the event
	SlotReason        // a Reason, as text
	SlotKey
)

// MayBeLost reports that an unpaired event's partner may be lost.
func MayBeLost(e *event.Event) bool {
	return e.Derived.Slots[SlotReason].Compare(reasonValues[Broken]) == 0
}

// leaves hands out e as an unpaired event; t is the time at which it left.
func (j *Join) leaves(e *event.Event, why Reason, t event.Time) {
	if s := j.spec.Streams[e.Stream.Index]; s != nil {
		j.unpaired.pair.fill(e, s, j.in[e.Stream.Index].Key, why, t)
		j.unpaired.out[0] = &j.unpaired.pair.ev
		j.spec.To.Events(j.unpaired.out[:])
	}
}

// fill makes p the unpaired event of e. It views e.
func (p *pair) fill(e *event.Event, s *event.Stream, key *expr.Program, why Reason, t event.Time) {
	p.ev = event.Event{
		Time:    t,
		Stream:  s,
		Derived: &p.derived,
		PID:     e.PID,
		TID:     e.TID,
		CPU:     e.CPU,
		Ring:    e.Ring,
	}
	p.derived.Start, p.derived.End = e, nil
	p.slots[SlotAge] = event.DurationOf(int64(t - e.Time))
	p.slots[SlotReason] = reasonValues[why]
	p.frame.Reset(e)
	p.slots[SlotKey] = key.Value(p.frame)
	p.derived.Slots = p.slots[:]
}

// End ends an interval, or the run: waiting events are handed to operators that
// want them, and pairs that wait for events after them are shown. now is the
// present time, or 0: the age of waiting events counts up to it.
func (j *Join) End(final bool, now event.Time) {
	if t := j.spec.Timeline; t != nil && final {
		t.due(event.MaxTime)
	}
	if j.spec.Streams == nil || !final && !j.spec.WithWaiting {
		return
	}
	why := Waits
	if final {
		why = Exit
	}
	j.list.each(func(n int32) { j.leaves(j.list.event(n, &j.matches.gone), why, max(j.clock.now, now)) })
}

// A LeftSieve hands on some of the unpaired events. It implements flow.Sink.
type LeftSieve struct {
	Wants    []bool // by stream
	OnlyLost bool   // only those whose partner may be lost
	To       flow.Sink
	buf      []*event.Event
}

// Events implements flow.Sink.
func (r *LeftSieve) Events(evs []*event.Event) {
	r.buf = r.buf[:0]
	for _, e := range evs {
		if r.OnlyLost && !MayBeLost(e) {
			continue
		}
		if i := e.Stream.Index; i < len(r.Wants) && r.Wants[i] {
			r.buf = append(r.buf, e)
		}
	}
	if len(r.buf) > 0 {
		r.To.Events(r.buf)
	}
}

// Lost implements flow.Sink.
func (r *LeftSieve) Lost(ring int32, n uint64, t event.Time) { r.To.Lost(ring, n, t) }
