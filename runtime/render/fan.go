package render

import "ppscript/runtime/result"

// A Fan is a renderer that shows everything in several places: the function hands show to
// each of them, and decides what an error means.
type Fan func(show func(Renderer) error) error

// Table implements Renderer.
func (f Fan) Table(t *result.Table) error {
	return f(func(r Renderer) error { return r.Table(t) })
}

// Histogram implements Renderer.
func (f Fan) Histogram(h *result.Histogram) error {
	return f(func(r Renderer) error { return r.Histogram(h) })
}

// Stacks implements Renderer.
func (f Fan) Stacks(s *result.Stacks) error {
	return f(func(r Renderer) error { return r.Stacks(s) })
}

// Heatmap implements HeatShower.
func (f Fan) Heatmap(h *result.Heatmap) error {
	return f(func(r Renderer) error { return ShowHeatmap(r, h) })
}

// Event implements Renderer.
func (f Fan) Event(l *Line) error {
	return f(func(r Renderer) error { return r.Event(l) })
}

// Detail implements Renderer.
func (f Fan) Detail(d *result.Detail) error {
	return f(func(r Renderer) error { return r.Detail(d) })
}

// Why implements Renderer.
func (f Fan) Why(w *result.Why) error {
	return f(func(r Renderer) error { return r.Why(w) })
}

// Note implements Renderer.
func (f Fan) Note(kind string, fields ...NoteField) error {
	return f(func(r Renderer) error { return r.Note(kind, fields...) })
}

// Print implements Renderer.
func (f Fan) Print(text []byte) error {
	return f(func(r Renderer) error { return r.Print(text) })
}

// Flush implements Renderer.
func (f Fan) Flush() error { return f(Renderer.Flush) }

// Ignore shows nothing. A renderer of some kinds of results embeds it for the others.
type Ignore struct{}

// Table implements Renderer.
func (Ignore) Table(*result.Table) error { return nil }

// Histogram implements Renderer.
func (Ignore) Histogram(*result.Histogram) error { return nil }

// Stacks implements Renderer.
func (Ignore) Stacks(*result.Stacks) error { return nil }

// Event implements Renderer.
func (Ignore) Event(*Line) error { return nil }

// Detail implements Renderer.
func (Ignore) Detail(*result.Detail) error { return nil }

// Why implements Renderer.
func (Ignore) Why(*result.Why) error { return nil }

// Note implements Renderer.
func (Ignore) Note(string, ...NoteField) error { return nil }

// Print implements Renderer.
func (Ignore) Print([]byte) error { return nil }

// Flush implements Renderer.
func (Ignore) Flush() error { return nil }

// NoLines shows everything but lines of events.
type NoLines struct{ Renderer }

// Event implements Renderer.
func (NoLines) Event(*Line) error { return nil }
