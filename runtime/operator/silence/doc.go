// Package silence finds the times in which a key that had events has none.
//
// For each key it keeps the stretches of time in which events follow each other
// within the bound. So events may come in any order, and the results of several
// readers, each with its own rings, can be merged: a time is silent if it is
// silent for all of them.
package silence

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/system/memory"
)

// A Spec describes a Finder.
type Spec struct {
	// Key is the key; silences are found for each of its values.
	Key *flow.Fn
	// Than is the bound: times without events that are longer are silences; ns.
	Than int64
	// Limit bounds the keys; 0 is key.DefaultLimit. Memory bounds them too, unless it is nil.
	Limit  int
	Memory *memory.Budget
	// ByRing says that no key has events in several rings, so that a loss in one
	// ring leaves the keys of others alone.
	ByRing bool
	// Ordered says that events come in time order, and to this Finder alone.
	Ordered bool
	// LossEnd returns the end of the last loss of a ring; 0 if unknown. It may be nil.
	LossEnd func(ring int32) event.Time
}

// A Silence is a time without events of a key.
type Silence struct {
	Key      event.Value
	From, To event.Time // times of the last event before and of the first one after
	Over     bool       // an event ended it; else To is the end of the run
}

// Length is how long it was, in ns.
func (s *Silence) Length() int64 { return int64(s.To - s.From) }
