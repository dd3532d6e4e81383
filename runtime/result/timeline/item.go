package timeline

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/unit"
)

// Kind says how an Item is shown, and which of its members are set.
type Kind uint8

const (
	Instant Kind = iota
	Slice        // from Time to End
	Sample       // the stack that a CPU was executing at Time
	Switch       // a CPU switches from one thread to another
	Wakeup       // a thread makes another one ready
	Counter      // a number that is valid from Time on
)

// An Item is one entry of a timeline. It and all that it points to, except Track and Args,
// are valid only until the Writer returns.
type Item struct {
	Kind  Kind
	Time  event.Time
	End   event.Time // end of a Slice
	Track *Track
	Name  string
	Event *event.Event // the event it was made from; nil for counters and explained spans
	Args  []Arg        // arguments for the fields of Event
	// Stack is the stack of the event, or of a slice's start event, and
	// EndStack of a slice's end event; stack.None if there is none.
	Stack, EndStack stack.ID
	// Leads and Follows are the numbers of the flows that begin and end at this
	// item; 0 is none.
	Leads, Follows uint64
	Value          float64 // value of a Counter
	// Weight is the period of a Sample: the ns of its clock, or the counts of its counter,
	// that it stands for; 0 if unknown.
	Weight uint64
	Sched  Sched // details of a Switch or Wakeup
}

// Sched has the fields of scheduling events. A Wakeup has Next and the CPU that it is
// to run on; a Switch has all.
type Sched struct {
	Prev, Next Task
	State      int64 // state of Prev: the bits of the kernel's prev_state
	CPU        int32 // -1 if not known
	New        bool  // the thread is woken for the first time after its creation
	Waking     bool  // from a sched_waking event
}

// A Task is a thread as the scheduler names it.
type Task struct {
	TID, Prio int64
	Comm      []byte
}

// TrackKind says what a track shows.
type TrackKind uint8

const (
	OfThread  TrackKind = iota
	OfCPU               // events without a thread
	OfGroup             // only the title of the tracks below it
	OfKey               // slices of one key of pairs, or slices of one kind on a thread
	OfCounter           // numbers
)

// A Track is a horizontal line of the timeline, on which items are shown.
type Track struct {
	// ID is larger than the ID of every earlier track. So a Writer that gets an ID larger than
	// all before has not seen the track before, and perhaps not its Parent.
	ID     uint64
	Kind   TrackKind
	PID    int32 // process of an OfThread; -1 if unknown
	TID    int32
	CPU    int32
	Name   string
	Parent *Track
	Unit   unit.Unit // of OfCounter

	end event.Time // end of the last slice
}

// An Arg is a named value of an event.
type Arg struct {
	Name string
	// ID numbers all arguments of a Builder from 0.
	ID    int
	field *event.Field
	part  part
	names map[uint64]string // cache of names of numbers
	hex   []byte            // buffer for the last value in hex
}

// part says which event has an argument's field: the derived event itself, or
// the start or end of the pair.
type part uint8

const (
	itself part = iota
	start
	end
)

// A Writer writes items in a format. It keeps its first error; later calls do
// nothing.
type Writer interface {
	// Write is called with items in the order of their ends. Explained spans come later,
	// since explaining takes a while: they are on separate tracks, in the order of their
	// beginnings.
	Write(it *Item)
	// Rename reports that a used track has a new name.
	Rename(t *Track)
	// ForgetStacks reports that the numbers of stacks will be reused for other
	// stacks.
	ForgetStacks()
	// Flush writes what is buffered, and returns the first error.
	Flush() error
	// Close writes the end of the file.
	Close() error
}

// About has data for a Writer besides the events: clock, kernel, caption and
// stacks.
type About struct {
	// Clock converts to wall-clock time; nil if it is unknown.
	Clock func(event.Time) time.Time
	// Release and Arch describe the kernel of the events, Caption describes the run;
	// "" if unknown.
	Release, Arch, Caption string
	Stacks                 Stacks // nil if there are no stacks
}

// Stacks returns the frames of numbered stacks.
type Stacks interface {
	Frames(dst []*result.Frame, id stack.ID) ([]*result.Frame, stack.Stack)
}
