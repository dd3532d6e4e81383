// Package silence finds the times in which a key that had events has none.
//
// What is kept of a key is which stretches of time its events cover: those with
// less than the bound between one event and the next. So it does not matter in
// which order events come, and what several readers saw of a key, each in rings
// of its own, adds up: a time is silent if it is for all of them.
package silence

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/system/memory"
)

// A Spec describes a Finder.
type Spec struct {
	// Key tells what is silent apart.
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
	// LossEnd is when the last loss of a ring was over; 0 is not known. It may be nil.
	LossEnd func(ring int32) event.Time
}

// A Silence is a time without events of a key.
type Silence struct {
	Key      event.Value
	From, To event.Time // of the last event before, of the first one after
	Over     bool       // there was one after; else To is the end of the run
}

// Length is how long it was, in ns.
func (s *Silence) Length() int64 { return int64(s.To - s.From) }
