package overlap

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// A Spec describes a Splitter.
type Spec struct {
	// Split are the sources of spans that are split, Over the sources of spans that split them.
	Split []Source
	Over  []Source
	// Integer says that all keys are numbers.
	Integer bool
	// Out are the streams of the parts, by stream of the span.
	Out []*event.Stream
	// Slots is the number of slots that parts copy from their span, by stream. Behind them
	// a part has its length, its begin, its name, and the facts.
	Slots []int
	// None are the facts of the rest.
	None []event.Value
	// Limit bounds the spans that are kept, and the keys; 0 is DefaultLimit.
	Limit int
	// LossEnd returns when the last loss of a ring ended; nil if nobody knows.
	LossEnd func(ring int32) event.Time
}

// DefaultLimit bounds the kept spans, and the keys, unless the Spec sets
// another bound.
const DefaultLimit = 1 << 18

// The names of parts that no span over the split one makes.
const (
	Rest    = "rest"
	Unknown = "unknown"
)

// A Source is a join or a fold that makes spans.
type Source struct {
	// Key is the key of a span, by its stream; nil if it is the key of the event that ends it.
	Key *flow.Fn
	// Ends and Begins are the keys of events that end and begin spans, by their streams. They
	// are nil if there is a Key: that is evaluated then on a span without the other event.
	Ends, Begins *flow.Fn
	// Spans are the streams of spans, by the streams of the events that begin and end them, for Key.
	Spans []*event.Stream
	// Names are the names of the parts that a span makes, by its stream.
	Names []event.Value
	// Facts are the programs of the facts of a span, by its stream.
	Facts [][]*expr.Program
	// Where are the conditions for spans, by stream; nil lets all pass. Ended spans have
	// been checked already; for an open span the result may not be known yet.
	Where []*expr.Program
	// Begun returns the event that began an open span. It may store a copy in memory.
	Begun func(id int32, memory *event.Event) *event.Event
}
