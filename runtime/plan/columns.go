package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/view"
)

// This file has the events of a script that is a source look like the rows of
// its tables: with the names of its states, and times as people write them.

// Texts are shown by the tables of a script in place of the values of fields,
// by field.
func Texts(reports []Report) map[string]view.CellFunc {
	var texts map[string]view.CellFunc
	for _, r := range reports {
		g, ok := r.(*Group)
		if !ok {
			continue
		}
		for _, v := range g.By {
			if text := g.View.Texts[v.Name]; text != nil && v.Fn.Text != "" {
				if texts == nil {
					texts = map[string]view.CellFunc{}
				}
				texts[v.Fn.Text] = text
			}
		}
	}
	return texts
}

// name gives the events that a fold emits their text.
func (p *Profiler) name(s *event.Schema) {
	if s.Text == nil {
		s.Text = view.TextOf(s, p.Texts)
	}
}
