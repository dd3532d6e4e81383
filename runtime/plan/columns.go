package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/view"
)

// This file has the events of a script that is a source look like the rows of
// its tables: with the names of its states, and times as people write them.

// name gives the events that a fold emits their text.
func (p *Profiler) name(s *event.Schema) {
	if s.Text == nil {
		s.Text = view.TextOf(s, p.Texts)
	}
}
