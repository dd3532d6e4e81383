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
	// Slots is how many slots of a span its parts have too, by its stream. Behind them they
	// have how long they last, when they begin, their name, and the facts.
	Slots []int
	// None are the facts of parts that no span makes.
	None []event.Value
	// Limit bounds the spans that are kept, and the keys; 0 is DefaultLimit.
	Limit int
	// LossEnd returns when the last loss of a ring ended; nil if nobody knows.
	LossEnd func(ring int32) event.Time
}

// DefaultLimit bounds what is kept unless the Spec says otherwise.
const DefaultLimit = 1 << 18

// The names of parts that no span makes.
const (
	Rest    = "rest"
	Unknown = "unknown"
)

// A Source is where spans come from: a join, or a fold.
type Source struct {
	// Key is the key of a span, by its stream; nil if it is the key of the event that ends it.
	Key *flow.Fn
	// Ends and Begins are the keys of events that end and begin spans, by their streams. They
	// are nil if there is a Key: that is evaluated then on a span without the other event.
	Ends, Begins *flow.Fn
	// Spans are the streams of spans, by the streams of the events that begin and end them, for Key.
	Spans []*event.Stream
	// Names are how parts are called that a span makes, by its stream.
	Names []event.Value
	// Facts are what parts know of the span that makes them, by its stream.
	Facts [][]*expr.Program
	// Where are what spans must satisfy, by their stream; nil lets all pass. Those that are
	// over come only if they do; of an open one it may not be known yet.
	Where []*expr.Program
	// Begun returns the event that began an open span. It may use memory that it is given.
	Begun func(id int32, memory *event.Event) *event.Event
}
