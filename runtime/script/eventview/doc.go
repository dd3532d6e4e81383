// Package eventview shows events to script functions that stay interpreted: a View
// is a Starlark value whose attributes are an event's fields. It makes no values
// ahead, and remembers how each attribute of a stream is read.
//
// frontend makes Views, one set for each function, and lowers what it can by the
// same rules (AccessOf).
package eventview
