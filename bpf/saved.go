package bpf

import "ppscript/runtime/expr"

// This file says what waits of an event for its partner.

// A savedField is a field of starts that somebody reads of the pair.
type savedField struct {
	name  string
	field *expr.Field // as the start itself reads it
	event int         // the input whose field it is; the same field of others is separate
	off   int         // in what waits
	size  int
	text  bool
	array bool
	// located says that the field is a text, for who shows the event (located.go), read that
	// it is an argument of a probe in memory, with whether it could be read.
	located, read bool
	user          bool // it is an argument that is a text of the process
}

// What waits: when, and which event, 0 if nobody; then the saved fields.
const (
	waitTime  = 0
	waitEvent = 8
	waitSaved = 16
)
