// Package fold runs small state machines, one for each key: a step function
// looks at an event and at the state of its key, changes the state, and emits
// events of a new stream. Plan builds a Fold, flow feeds it; its emitted
// events flow on like any others.
//
// A key's state is a few integers, and texts, in one slice for all keys; a
// key that was never seen has the initial state. So a key that is back in its
// initial state need not be kept: it goes before the state of all keys grows,
// so that threads that ended do not add up. At the limit of keys those go that
// were not used for long, each counted as evicted.
//
// State that could span a loss of events is dropped: a state machine that
// missed an event would report what never was. Nothing here knows the meaning
// of a state, so the state of a thread that ended stays until it is pushed
// out.
package fold
