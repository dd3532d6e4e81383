package expr

import (
	"strings"

	"ppscript/runtime/event"
)

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
	// written start.pid. If one is a pair itself, its parts follow as "start.start".
	Parts map[string]*event.Schema
	// Consts are named integers, Vars named IR nodes (a slot, a state).
	// Vars["start.x"] is the member x of a part; it hides a field.
	Consts map[string]int64
	Vars   map[string]Node
	// Services are the functions that builtins call.
	Services Services
}

// mostSteps bounds how far parts lie in each other: a Part has no room for more.
const mostSteps = 4

// TakeParts adds the parts of a scope whose event is the part name of this one, and it itself.
func (sc *Scope) TakeParts(name string, of *Scope) {
	if sc.Parts == nil {
		sc.Parts = map[string]*event.Schema{}
	}
	sc.Parts[name] = of.Schema
	for inner, s := range of.Parts {
		if strings.Count(inner, ".")+2 <= mostSteps {
			sc.Parts[name+"."+inner] = s
		}
	}
}

// Part is the schema of a part of the event, by its name; nil if it is not known.
func (sc *Scope) Part(name string) *event.Schema {
	if name == "" {
		return sc.Schema
	}
	return sc.Parts[name]
}
