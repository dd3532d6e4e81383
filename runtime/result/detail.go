package result

import "ppscript/runtime/event"

// A Detail is one pair of events with the events before, between and after. It
// is a view: its events are valid only during the call that passes it.
type Detail struct {
	Name   string // of the result in the script
	Pair   string // "start => end"
	Reason string // why the end is missing: "lost", "evicted", "exit"; "" if it is not

	Start *event.Event
	End   *event.Event // nil if the end was not seen
	Until event.Time   // without an end: the time up to which it was waited for

	// Listed says that the script asked for events around the pair.
	Listed bool
	Lines  []DetailLine
	// Before and After are the lengths, in ns, of the listing before and after
	// the pair; 0 if it has only the pair.
	Before, After int64
	// Stack returns the stack of an event, which is valid until the next call; nil if no event
	// has one.
	Stack func(e *event.Event) CallStack
	// Marker returns the mark of an event from elsewhere, as in Line.Marker;
	// nil if all events are local.
	Marker  func(e *event.Event) byte
	Evicted Evicted
}

// Evicted says whether a listing lacks older events, which were evicted by a bound on
// memory.
type Evicted struct {
	Some  bool
	Since event.Time // the listing is complete from this time
	// Overwritten says that the evicted events were overwritten in the flight buffer of
	// the kernel's programs.
	Overwritten bool
}

// A DetailPart says whether a line is before, between or after the events of
// the pair.
type DetailPart uint8

const (
	Previous DetailPart = iota
	Between
	After
)

// A DetailLine is an event before, within or after a pair, or the number of
// events left out there.
type DetailLine struct {
	Part  DetailPart
	Event *event.Event // nil: the line stands for Hidden events that are left out
	// Hidden is the number of events that are left out.
	Hidden int
	// State is the new state of the observed task: wakeup, running,
	// preempt, sleeping, waiting, migrate; "" for nothing.
	State string
	// RanNS is the time, in ns, that the thread which leaves the CPU had run;
	// it is known if Ran is true. RanComm is the thread's name.
	Ran     bool
	RanNS   int64
	RanComm []byte
}

// DelayNS returns the time from Start to End, or to Until if there is no end.
func (d *Detail) DelayNS() int64 {
	if d.End != nil {
		return int64(d.End.Time - d.Start.Time)
	}
	return int64(d.Until - d.Start.Time)
}
