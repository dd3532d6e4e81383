package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Let computes named values and attaches them to the events as slots, behind
// the slots that they have.
type Let struct {
	Vars []*Fn
	Next Sink
	Errs Errors

	frame  expr.Frame
	joints []event.Joint
	before []*event.Joint
	kept   []*event.Event
}

// Events implements Sink.
func (l *Let) Events(evs []*event.Event) {
	for len(l.joints) < len(evs) {
		l.joints = append(l.joints, event.Joint{})
	}
	l.kept, l.before = l.kept[:0], l.before[:0]
	for _, e := range evs {
		j := &l.joints[len(l.kept)]
		j.Slots = j.Slots[:0]
		if e.Joint != nil {
			j.Start, j.End = e.Joint.Start, e.Joint.End
			j.Slots = append(j.Slots, e.Joint.Slots...)
		} else {
			j.Start, j.End = nil, nil
		}
		l.frame.Event = e
		for _, v := range l.Vars {
			j.Slots = append(j.Slots, v.For(e).Value(&l.frame))
		}
		if l.frame.Err != nil {
			l.Errs.Note(&l.frame)
			continue
		}
		l.before = append(l.before, e.Joint)
		l.kept = append(l.kept, e)
		e.Joint = j
	}
	if len(l.kept) == 0 {
		return
	}
	// The operators behind may compact the slice; restore from a copy.
	n := len(l.kept)
	l.kept = append(l.kept, l.kept...)
	l.Next.Events(l.kept[:n:n])
	for i, e := range l.kept[n:] {
		e.Joint = l.before[i]
	}
}

// Lost implements Sink.
func (l *Let) Lost(ring int32, n uint64, t event.Time) { l.Next.Lost(ring, n, t) }
