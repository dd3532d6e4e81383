// Package eventview shows events to script functions that stay interpreted: a View
// is a Starlark value whose attributes are an event's fields. It makes values only
// when they are read, and caches how each attribute of a stream is read.
//
// Package frontend makes the Views, a set for each function, and lowers
// functions by the same rules (AccessOf).
package eventview
