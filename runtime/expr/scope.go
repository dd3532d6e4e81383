package expr

import (
	"strings"

	"ppscript/runtime/event"
)

// A Scope defines the names in expressions, for both languages. Usually only
// Schema is needed.
type Scope struct {
	// Schema is the schema of the event itself: its fields and the sample
	// members are variables, and members of REC. A dynamic field NAME also
	// defines NAME_offset and NAME_len. Nil if there is no event.
	Schema *event.Schema
	// Stream is the stream of the events if all are of one stream: two streams
	// with one schema may have different Vars.
	Stream *event.Stream
	// Parts are the schemas of a pair's events, "start" and "end", whose fields are
	// written start.pid. If one is a pair itself, its parts are named "start.start"
	// and so on.
	Parts map[string]*event.Schema
	// Consts are named integers, Vars named IR nodes, such as a slot or a
	// state. Vars["start.x"] is the member x of a part; it hides a field.
	Consts map[string]int64
	Vars   map[string]Node
	// Services are the functions that builtins need.
	Services Services
}

// mostSteps bounds the nesting of parts: a Part has no room for more.
const mostSteps = 4

// TakeParts adds the event of another scope as the part name of this one, and the parts of
// that event.
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

// Part is the schema of a part of the event, by its name; nil if unknown.
func (sc *Scope) Part(name string) *event.Schema {
	if name == "" {
		return sc.Schema
	}
	return sc.Parts[name]
}
