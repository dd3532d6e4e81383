package expr

import "ppscript/runtime/event"

// A Scope gives the names in expressions their meaning, in both languages. Only
// Schema is usually needed.
type Scope struct {
	// Schema is of the event itself: its fields and the sample members are
	// variables, and members of REC. A dynamic field NAME also gives
	// NAME_offset and NAME_len. Nil if there is no event.
	Schema *event.Schema
	// Stream is the stream of the events if they are known to be of one: two of
	// one schema may have different Vars.
	Stream *event.Stream
	// Parts are the events of a pair, "start" and "end", whose fields are
	// written start.pid.
	Parts map[string]*event.Schema
	// Consts are named integers, Vars named IR nodes (a slot, a state).
	// Vars["start.x"] is the member x of a part; it hides a field.
	Consts map[string]int64
	Vars   map[string]Node
	// Services are the functions that builtins call.
	Services Services
}
