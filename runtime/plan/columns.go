package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/unit"
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
	if s.Text != nil {
		return
	}
	var shown []int
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Place != event.InSlot || !f.Stack() {
			shown = append(shown, i)
		}
	}
	s.Text = func(dst []byte, e *event.Event) []byte {
		for n, i := range shown {
			if n > 0 {
				dst = append(dst, ' ')
			}
			f := &s.Fields[i]
			dst = append(append(dst, f.Name...), '=')
			dst = p.appendCell(dst, f, f.Value(e))
		}
		return dst
	}
}

// appendCell appends a value as the script's tables show it.
func (p *Profiler) appendCell(dst []byte, f *event.Field, v event.Value) []byte {
	if text := p.Texts[f.Name]; text != nil {
		if t, err := text(v); err == nil {
			return append(dst, t...)
		}
	}
	if f.Shown != nil {
		if t, ok := f.Shown(v); ok {
			return append(dst, t...)
		}
	}
	if f.Unit == event.Nanos && v.Numeric() {
		return append(dst, unit.Duration(v.Int())...)
	}
	return append(dst, v.String()...)
}
