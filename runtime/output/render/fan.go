package render

import "ppscript/runtime/result"

// A Fan is a renderer that passes each call to several renderers. The function calls show
// for each of them, and decides about errors.
type Fan func(show func(Renderer) error) error

// Show implements Renderer.
func (f Fan) Show(r result.Result) error {
	return f(func(to Renderer) error { return to.Show(r) })
}

// Note implements Renderer.
func (f Fan) Note(kind string, fields ...NoteField) error {
	return f(func(to Renderer) error { return to.Note(kind, fields...) })
}

// Flush implements Renderer.
func (f Fan) Flush() error { return f(Renderer.Flush) }

// Ignore has methods that do nothing, for renderers that do not need all methods and
// embed it.
type Ignore struct{}

// Show implements Renderer.
func (Ignore) Show(result.Result) error { return nil }

// Note implements Renderer.
func (Ignore) Note(string, ...NoteField) error { return nil }

// Flush implements Renderer.
func (Ignore) Flush() error { return nil }

// NoLines shows all results except lines of events.
type NoLines struct{ Renderer }

// Show implements Renderer.
func (n NoLines) Show(r result.Result) error {
	if _, line := r.(*result.Line); line {
		return nil
	}
	return n.Renderer.Show(r)
}
