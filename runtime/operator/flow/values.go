package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Values writes the value of a function for each event.
type Values struct {
	Of    *Fn
	Write func(stream int, at event.Time, value event.Number)
	Errs  Errors

	frame expr.Frame
}

// Events implements Sink.
func (v *Values) Events(evs []*event.Event) {
	for _, e := range evs {
		v.frame.Reset(e)
		n := v.Of.For(e).AsNumber(&v.frame)
		if v.frame.Err != nil {
			v.Errs.Note(&v.frame)
			continue
		}
		v.Write(e.Stream.Index, e.Time, n)
	}
}

// Lost implements Sink: the session reports losses, once for all.
func (v *Values) Lost(int32, uint64, event.Time) {}
