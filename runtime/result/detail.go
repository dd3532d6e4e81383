package result

import "ppscript/runtime/event"

// A Detail is one pair of events with the events before, between and after.
// It is a view: the events live as long as the call that hands it out.
type Detail struct {
	Name   string // of the result in the script
	Pair   string // "start => end"
	Reason string // why there is no end: "lost", "evicted", "exit"; else ""

	Start *event.Event
	End   *event.Event // nil if the end was not seen
	Until event.Time   // up to when it was waited for, without an end

	// Listed says that events around the pair were asked for.
	Listed bool
	Lines  []DetailLine
	// Before and After are how far the listing reaches beyond the pair, in
	// ns; 0 if it does not.
	Before, After int64
	// Stack returns the stack of an event, which is valid until the next call; nil if no event
	// has one to show.
	Stack func(e *event.Event) CallStack
	// Marker tells events that come from elsewhere; nil if none do.
	Marker  func(e *event.Event) byte
	Evicted Evicted
}

// Evicted tells that a listing is not complete: older events had been pushed out by a bound
// on memory.
type Evicted struct {
	Some  bool
	Since event.Time // from when on it is complete
	// Overwritten says that the bound comes from the memory in which programs keep events.
	Overwritten bool
}

// A DetailPart says where a line stands.
type DetailPart uint8

const (
	Previous DetailPart = iota
	Between
	After
)

// A DetailLine is an event around or inside a pair, or a number of hidden
// ones.
type DetailLine struct {
	Part  DetailPart
	Event *event.Event // nil: Hidden events are left out here
	// Hidden is how many are left out.
	Hidden int
	// State is the new state of the observed task: wakeup, running,
	// preempt, sleeping, waiting, migrate; "" for nothing.
	State string
	// RanNS is how long the thread that leaves the CPU had run, if Ran says
	// that it is known; RanComm is its name.
	Ran     bool
	RanNS   int64
	RanComm []byte
}

// DelayNS is the time from the start to the end, or to where waiting ended.
func (d *Detail) DelayNS() int64 {
	if d.End != nil {
		return int64(d.End.Time - d.Start.Time)
	}
	return int64(d.Until - d.Start.Time)
}
