// Package state generates what programs keep between events, and what they find there: the rows of
// groups, events that wait for their partner, the calls of a thread and their texts, the
// processes that are observed, and which keys count. It bounds the maps for that, too.
package state
