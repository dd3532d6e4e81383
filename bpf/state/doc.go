// Package state generates code that stores and finds state between events: rows of groups, events
// that wait for their partner, stacks of nested calls, texts of system calls, the set of observed
// processes or threads, and the keys that a budget lets count. It also bounds the sizes of these
// maps.
package state
