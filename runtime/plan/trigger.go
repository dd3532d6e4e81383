package plan

import "ppscript/runtime/event"

// A TriggerRun ends the interval at each of its events. Session sets Fire
// before events flow.
type TriggerRun struct {
	stream int
	Fire   func(e *event.Event)
}

// Events implements flow.Sink.
func (t *TriggerRun) Events(evs []*event.Event) {
	for _, e := range evs {
		t.Fire(e)
	}
}

// Lost implements flow.Sink.
func (t *TriggerRun) Lost(int32, uint64, event.Time) {}
