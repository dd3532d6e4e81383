package result

// A Result is a value that renderers show: a Table, Stacks, Heatmap or Why of an interval, or a
// single Line, Detail or Text.
//
// A renderer may have its own form for a shape. For other shapes it uses render.Walk, which
// converts them to tables of plain cells and lines of events.
type Result interface {
	// About returns the name and the interval of the result. It is nil for a Line, Detail or
	// Text, which is shown during an interval and is a view that dies when the call returns.
	About() *Meta
}

// About implements Result for all shapes that embed Meta.
func (m *Meta) About() *Meta { return m }

// About implements Result.
func (w *Why) About() *Meta { return &w.Meta }

// About implements Result.
func (*Line) About() *Meta { return nil }

// About implements Result.
func (*Detail) About() *Meta { return nil }

// About implements Result.
func (*Text) About() *Meta { return nil }

// A Text is text that the script itself prints, such as by exec attributes.
type Text struct{ Bytes []byte }

// TextOf makes a Text.
func TextOf(text string) *Text { return &Text{[]byte(text)} }
