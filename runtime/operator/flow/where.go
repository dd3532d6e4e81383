package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Where passes the events on for which a predicate holds.
type Where struct {
	Pred *Fn
	Next Sink
	Errs Errors

	frame expr.Frame
	kept  []*event.Event
}

// Events implements Sink.
func (w *Where) Events(evs []*event.Event) {
	w.kept = w.kept[:0]
	for _, e := range evs {
		p := w.Pred.For(e)
		if p == nil {
			w.kept = append(w.kept, e) // no predicate on this stream's way
			continue
		}
		w.frame.Reset(e)
		if ok := p.Bool(&w.frame); w.frame.Err != nil {
			w.Errs.Note(&w.frame)
		} else if ok {
			w.kept = append(w.kept, e)
		}
	}
	if len(w.kept) > 0 {
		w.Next.Events(w.kept)
	}
}

// Lost implements Sink.
func (w *Where) Lost(ring int32, n uint64, t event.Time) { w.Next.Lost(ring, n, t) }
