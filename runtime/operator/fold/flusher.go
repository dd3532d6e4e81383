package fold

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// This file runs flush functions over states that programs of the kernel keep.

// A State is a copy of the state of one key, read from the kernel.
type State struct {
	Key     []byte // as key.Append packs it
	Time    event.Time
	Numbers []int64
	Texts   [][]byte
}

// A Flusher runs the flush function of a fold on copies of states, and hands on the
// emitted events. The caller must apply the function's changes to the originals.
type Flusher struct {
	spec Spec
	next flow.Sink

	event *event.Event
	frame expr.Frame
	out   emitBuffer
	errs  flow.Errors
	stats Stats
}

// NewFlusher returns a Flusher that hands emitted events to next.
func NewFlusher(s Spec, next flow.Sink) *Flusher {
	f := &Flusher{spec: s, next: next, event: s.flushEvent()}
	f.out.init(s.Out, s.Stacks)
	f.frame.Emit = f.out.emit
	if s.Subject {
		f.out.subject = func(e *event.Event) event.Value { return e.Derived.Slots[0] }
	}
	return f
}

// flushEvent is the event that flush functions get, without its time and key.
func (s *Spec) flushEvent() *event.Event {
	return &event.Event{Stream: s.FlushStream, Derived: &event.Derived{Slots: make([]event.Value, 1)},
		PID: -1, TID: -1, CPU: -1, Ring: -1}
}

// Flush runs the flush function on a state, which is not the initial one. It may change
// its numbers and texts.
func (f *Flusher) Flush(s *State) {
	f.event.Time = s.Time
	f.event.Derived.Slots[0], _ = key.Take(s.Key, f.spec.Key.Any())
	f.frame.Reset(f.event)
	f.frame.State, f.frame.Texts = s.Numbers, s.Texts
	if f.spec.Flush.Run(&f.frame); f.frame.Err != nil {
		f.errs.Note(&f.frame)
	}
	if len(f.out.events) >= batch {
		f.End()
	}
}

// End hands on what was emitted.
func (f *Flusher) End() { f.out.flush(f.next, &f.stats) }

// Errors returns the failed evaluations since the last call of Loss.
func (f *Flusher) Errors() *flow.Errors { return &f.errs }

// Loss returns the losses of the emitted events since the last call.
func (f *Flusher) Loss() event.Loss {
	l := event.Loss{Errors: f.errs.N}
	f.errs.N = 0
	return l
}
