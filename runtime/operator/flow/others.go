package flow

import "ppscript/runtime/event"

// Others is in front of operators that print or send: it holds back events
// about ppscript itself, whose output would otherwise be its own input.
// Operators that keep state get these events: for example, a switch from
// ppscript to another thread ends that thread's wait.
type Others struct {
	Next Sink
	// About says, by stream, which thread events are about; the default is Doer.
	About []About
	// Self is ppscript as the Router knows it.
	Self *Self

	passed []*event.Event
}

// Self is the process whose events are hidden: ppscript. Others holds back events
// about it in front of printers. Events that only printers would get are left out
// by the Router, before they count as samples.
type Self struct {
	// PID is the process; 0 hides nothing.
	PID int32
	// Own reports that a thread belongs to the process.
	Own func(e *event.Event, tid int32) bool
	// HeldBack counts the events that were held back.
	HeldBack uint64
}

// concerns reports that an event is about ppscript.
func (s *Self) concerns(e *event.Event, about About) bool {
	switch about.Whom {
	case Nobody:
		return false
	case Thread:
		return s.Own(e, int32(e.Derived.Slots[about.Slot].Int()))
	}
	if j := e.Derived; j != nil && j.Start != nil && j.Start.PID != s.PID {
		return false
	}
	return e.PID == s.PID
}

// About says which thread the events of a stream are about.
type About struct {
	Whom Whom
	Slot int // of Thread
}

// Whom tells which thread an event is about.
type Whom uint8

const (
	// Doer is the process in whose context the event happened; for a pair, both
	// events.
	Doer Whom = iota
	// Thread is the thread whose number is in a slot of the event.
	Thread
	// Nobody says that events are about no thread of this machine: about a CPU,
	// or about another machine.
	Nobody
)

// Events implements Sink.
func (o *Others) Events(evs []*event.Event) {
	if o.Self.PID == 0 {
		o.Next.Events(evs)
		return
	}
	o.passed = o.passed[:0]
	for _, e := range evs {
		if !o.Self.concerns(e, o.about(e.Stream.Index)) {
			o.passed = append(o.passed, e)
		}
	}
	o.Self.HeldBack += uint64(len(evs) - len(o.passed))
	if len(o.passed) > 0 {
		o.Next.Events(o.passed)
	}
}

func (o *Others) about(stream int) About {
	if stream < len(o.About) {
		return o.About[stream]
	}
	return About{}
}

// Lost implements Sink.
func (o *Others) Lost(ring int32, n uint64, t event.Time) { o.Next.Lost(ring, n, t) }
