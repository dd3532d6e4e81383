package flow

import "ppscript/runtime/event"

// Others is in front of operators that print or send: it holds back events
// about ppscript itself, whose output would otherwise be its own input.
// Operators that keep state are not behind it: a switch to another thread
// that happens while ppscript runs ends that thread's wait all the same.
type Others struct {
	Next Sink
	// About says by stream whom events are about; a stream that is missing is Doer.
	About []About
	// Self is ppscript as the Router knows it.
	Self *Self

	passed []*event.Event
}

// Self is the process whose doings are hidden: ppscript. Events about it are held
// back where they are printed, by Others. Those that nobody but Others would get
// the Router leaves out, before they count.
type Self struct {
	// PID is the process; 0 hides nothing.
	PID int32
	// Own tells its threads.
	Own func(e *event.Event, tid int32) bool
	// HeldBack is how many events were held back.
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

// About says whom the events of a stream are about.
type About struct {
	Whom Whom
	Slot int // of Thread
}

// Whom tells which thread an event is about.
type Whom uint8

const (
	// Doer is the process that did it: the one in whose context it happened, as did
	// the other event of a pair.
	Doer Whom = iota
	// Thread is the one whose number a slot of the event holds.
	Thread
	// Nobody is a CPU, or somebody elsewhere.
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
