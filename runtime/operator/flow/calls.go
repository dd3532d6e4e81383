package flow

import "ppscript/runtime/event"

// Calls calls a function for each event, or for each slice of events, until one fails.
type Calls struct {
	Call  func(e *event.Event) (event.Value, error)
	Batch func(evs []*event.Event) error // in place of Call
	Errs  Errors
	// Stop is called with the first error: a script's function that fails is
	// a failure of the script.
	Stop func(error)
}

// Events implements Sink.
func (x *Calls) Events(evs []*event.Event) {
	if x.Batch != nil {
		if x.Errs.N == 0 {
			x.check(x.Batch(evs))
		}
		return
	}
	for _, e := range evs {
		if x.Errs.N > 0 {
			return
		}
		_, err := x.Call(e)
		x.check(err)
	}
}

// check notes an error.
func (x *Calls) check(err error) {
	if err == nil {
		return
	}
	x.Errs.N++
	x.Errs.First = err
	if x.Stop != nil {
		x.Stop(err)
	}
}

// Lost implements Sink.
func (x *Calls) Lost(int32, uint64, event.Time) {}
