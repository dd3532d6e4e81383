package view

import (
	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// TextOf returns a function that appends the text of a derived event: its fields,
// with durations in readable units. texts has, by field, functions that return the
// text for a value, as in tables.
func TextOf(s *event.Schema, texts map[string]CellFunc) func(dst []byte, e *event.Event) []byte {
	var shown []int
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Place != event.InSlot || !f.Stack() {
			shown = append(shown, i)
		}
	}
	return func(dst []byte, e *event.Event) []byte {
		for n, i := range shown {
			if n > 0 {
				dst = append(dst, ' ')
			}
			f := &s.Fields[i]
			dst = append(append(dst, f.Name...), '=')
			dst = appendCell(dst, texts[f.Name], f, f.Value(e))
		}
		return dst
	}
}

// appendCell appends a value in the form of tables.
func appendCell(dst []byte, text CellFunc, f *event.Field, v event.Value) []byte {
	if text != nil {
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
