package timeline

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/unit"
)

// Kind says what an Item is.
type Kind uint8

const (
	Instant Kind = iota
	Slice        // from Time to End
	Sample       // what a CPU did at the moment, by its stack
	Switch       // a CPU goes from one thread to another
	Wakeup       // a thread makes another one ready
	Counter      // a number that holds from Time on
)

// An Item is one thing on a timeline. It and all that it points to, but for Track and Args,
// die when the Writer returns.
type Item struct {
	Kind  Kind
	Time  event.Time
	End   event.Time // of a Slice
	Track *Track
	Name  string
	Event *event.Event // what it was made of; nil for counters and explained spans
	Args  []Arg        // fields of Event
	// Stack of the event, and for a slice of its end; stack.None without.
	Stack, EndStack stack.ID
	// Leads and Follows are flows that begin and end here; 0 is none.
	Leads, Follows uint64
	Value          float64 // of a Counter
	// Weight of a Sample is how much of what its clock or counter counts it stands for; 0 is
	// not known.
	Weight uint64
	Sched  Sched // of a Switch or Wakeup
}

// Sched is what the scheduler did: of a Switch all of it, of a Wakeup Next and the CPU
// that it shall run on.
type Sched struct {
	Prev, Next Task
	State      int64 // of Prev, the bits of the kernel's prev_state
	CPU        int32 // -1 if not known
	New        bool  // the thread was just created
	Waking     bool  // by sched_waking
}

// A Task is a thread as the scheduler names it.
type Task struct {
	TID, Prio int64
	Comm      []byte
}

// TrackKind says what a track is about.
type TrackKind uint8

const (
	OfThread  TrackKind = iota
	OfCPU               // for events of no thread
	OfGroup             // names the tracks below it
	OfKey               // slices of a key of pairs, or of one kind on a thread
	OfCounter           // numbers
)

// A Track is a line of the timeline.
type Track struct {
	// ID is larger than that of every track that was used before. A reader that sees one larger
	// than all others sees the track, and its Parent perhaps, for the first time.
	ID     uint64
	Kind   TrackKind
	PID    int32 // of OfThread; -1 if unknown
	TID    int32
	CPU    int32
	Name   string
	Parent *Track
	Unit   unit.Unit // of OfCounter

	end event.Time // of the last slice
}

// An Arg is a named value of an event.
type Arg struct {
	Name string
	// ID is dense among all arguments of a Builder.
	ID    int
	field *event.Field
	part  part
	names map[uint64]string // names of numbers, once they were asked for
	hex   []byte            // of the last value
}

// part is which event of a pair a field is of.
type part uint8

const (
	itself part = iota
	start
	end
)

// A Writer writes items in some form. Its first error stays; later calls do nothing.
type Writer interface {
	// Write takes items in the order of their ends. Spans that are explained, which takes a
	// while, come later: on tracks of their own, in the order of their beginnings.
	Write(it *Item)
	// Rename says that a track which was used has another name now.
	Rename(t *Track)
	// ForgetStacks says that numbers of stacks will stand for others.
	ForgetStacks()
	// Flush writes what is buffered, and returns the first error.
	Flush() error
	// Close writes what comes last.
	Close() error
}

// About is what a Writer may tell beside the events, and where it finds names.
type About struct {
	// Clock converts to wall-clock time; nil if nobody knows.
	Clock func(event.Time) time.Time
	// Release and Arch describe the kernel of the events, Caption says what was done;
	// "" is not known.
	Release, Arch, Caption string
	Stacks                 Stacks // nil without stacks
}

// Stacks tells the frames behind numbers.
type Stacks interface {
	Frames(dst []*result.Frame, id stack.ID) ([]*result.Frame, stack.Stack)
}
