// Package fold runs small state machines, one for each key: a step function
// looks at an event and at the state of its key, changes the state, and emits
// events of a new stream. Plan builds a Fold, flow feeds it; its emitted
// events flow on like any others.
//
// A key's state is a few integers, and texts, in one slice for all keys; a new
// key has the initial state. So a key that is back in its initial state need
// not be kept: such keys are removed before the table grows, so that threads
// that ended do not add up. At the limit of keys, keys that were not used for
// long are removed, and counted as evicted.
//
// A state that could span a loss of events is dropped, since a state machine
// that missed an event would report wrong results. The package does not know
// the meaning of states: the state of a thread that ended stays until it is
// evicted.
package fold
