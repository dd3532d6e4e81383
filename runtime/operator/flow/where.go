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
	// HeldBack counts the events that did not pass, by stream.
	HeldBack []uint64

	frame  expr.Frame
	passed []*event.Event
}

// Events implements Sink.
func (w *Where) Events(evs []*event.Event) {
	w.passed = w.passed[:0]
	for _, e := range evs {
		p := w.Pred.For(e)
		if p == nil {
			w.passed = append(w.passed, e) // no predicate on this stream's way
			continue
		}
		w.frame.Reset(e)
		if ok := p.Bool(&w.frame); w.frame.Err != nil {
			w.Errs.Note(&w.frame)
		} else if ok {
			w.passed = append(w.passed, e)
			continue
		}
		w.HeldBack[e.Stream.Index]++
	}
	if len(w.passed) > 0 {
		w.Next.Events(w.passed)
	}
}

// Absorb adds what o held back, which saw other events, and clears it.
func (w *Where) Absorb(o *Where) {
	for i, n := range o.HeldBack {
		w.HeldBack[i] += n
	}
	clear(o.HeldBack)
}

// Lost implements Sink.
func (w *Where) Lost(ring int32, n uint64, t event.Time) { w.Next.Lost(ring, n, t) }
