// Package fold runs small state machines, one for each key: a step function
// looks at an event and at the state of its key, changes the state, and emits
// events of a new stream. Plan builds a Fold, flow feeds it; what it emits
// flows on like any other event.
//
// A key's state is a few integers, and texts, in one slice for all keys; a
// key that was never seen has the initial state. So a key that is back in its
// initial state need not be kept, and is the first to go when the number of
// keys reaches its limit. After it go those that were not used for long, each
// counted as evicted.
//
// State that could span a loss of events is dropped: a state machine that
// missed an event would report what never was. Nothing here knows what a
// state means; a key whose thread has ended stays until it is pushed out.
package fold
