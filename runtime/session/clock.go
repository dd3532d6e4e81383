package session

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/wallclock"
)

// present returns the present time on the events' clock. For a recording it is
// the end of the interval that is being shown, or 0 if that is the time of the
// last event.
func (r *run) present() event.Time {
	if r.env.rec.file != nil {
		return r.playback.ended()
	}
	return r.clock.Now()
}

// begin returns the time at which the run began; for a recording, the time of its
// first event.
func (r *run) begin() time.Time {
	if r.env.rec.file != nil {
		return r.clock.Of(r.instance.Router.First)
	}
	return r.started
}

// guestClock reads the clock of a virtual machine's guest.
func (w *env) guestClock() wallclock.Kernel {
	return wallclock.Kernel{
		Tracepoint: func(system, name string) (*event.Schema, error) {
			found, err := w.events.here.Find(&plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Tracepoint, System: system, Name: name,
			}})
			if err != nil {
				return nil, err
			}
			return found[0], nil
		},
		Tracefs: w.events.here.Tracefs(),
		Note:    w.msgs.note,
	}
}
