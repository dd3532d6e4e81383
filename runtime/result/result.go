package result

// A Result is a thing that renderers show: a Table, Stacks, Heatmap or Why of an interval, or a
// Line, Detail or Text that comes by itself.
//
// A renderer that knows a shape shows it as it likes. All others take it as render.Walk has it:
// tables of plain cells, and lines of events.
type Result interface {
	// About says of which name and interval the result is. It is nil for results that come one by
	// one while an interval lasts; they are views that die when the call returns.
	About() *Meta
}

// About implements Result, for all shapes that embed Meta.
func (m *Meta) About() *Meta { return m }

// About implements Result.
func (w *Why) About() *Meta { return &w.Meta }

// About implements Result.
func (*Line) About() *Meta { return nil }

// About implements Result.
func (*Detail) About() *Meta { return nil }

// About implements Result.
func (*Text) About() *Meta { return nil }

// A Text is text of the script's own, such as its exec attributes print.
type Text struct{ Bytes []byte }

// TextOf is a Text with these bytes.
func TextOf(text string) *Text { return &Text{[]byte(text)} }
