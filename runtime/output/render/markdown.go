package render

import (
	"bytes"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file writes GitHub's Markdown, for pasting into issues. Tables become
// Markdown tables; all else is the text output as code. Code is indented and not
// fenced, so no line of it can end the code, and a log needs no closing fence.

// markdownRenderer writes code by a textRenderer of its own.
type markdownRenderer struct {
	*sink
	text    textRenderer
	content bytes.Buffer // the output of text
	begun   bool         // something was written
	code    bool         // the last line is code
	partial bool         // and has no line end yet
}

func newMarkdown(out *sink, line lineOptions, width int) *markdownRenderer {
	r := &markdownRenderer{sink: out}
	r.text = textRenderer{sink: &sink{w: &r.content}, line: line, width: width}
	return r
}

// Show writes tables as Markdown tables, all else as code. Lines of a log are in one block of
// code; each result has its own.
func (r *markdownRenderer) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Table:
		if x.Histogram() < 0 {
			return r.table(x)
		}
	case *result.Why:
		return r.why(x)
	}
	return r.asCode(r.text.Show(x), x.About() != nil)
}

// table writes date and title, the table, and the losses. As in text, a table
// without rows is not written, unless something was lost.
func (r *markdownRenderer) table(t *result.Table) error {
	if len(t.Rows) == 0 && t.Omitted == 0 && t.Silent() && !t.Layout.Grid {
		return r.err
	}
	t = pivoted(t)
	// A Markdown table must have a header.
	shown := *withoutEmptyMargins(t)
	shown.Layout.NoHeader = false
	g := &r.text.grid
	g.fill(&shown, &r.text.line)
	if !t.Layout.NoDate {
		r.paragraph()
		r.buf = r.text.line.stamp.appendMoment(r.buf, t.End, t.Wall, &r.text.line)
		if t.Title != "" {
			title := plain.Line(strings.ReplaceAll(t.Title, "\n", " "))
			r.buf = appendMarkdown(append(r.buf, ' '), []byte(title))
		}
		r.buf = append(r.buf, '\n')
	}
	r.paragraph()
	start := 0
	for i, end := range g.ends {
		r.buf = append(r.buf, "| "...)
		r.buf = appendMarkdown(r.buf, g.text[start:end])
		r.buf = append(r.buf, ' ')
		start = end
		if (i+1)%len(g.cols) == 0 {
			r.buf = append(r.buf, "|\n"...)
		}
		if i == len(g.cols)-1 {
			r.rule(g.cols)
		}
	}
	if t.Omitted > 0 || !t.Silent() || t.Cost != nil && t.Cost.Visible {
		r.paragraph()
		r.text.missing(&t.Meta, len(t.Rows), t.Omitted, "row")
		if err := r.written(); err != nil {
			return err
		}
		missing := strings.TrimSpace(r.content.String())
		r.content.Reset()
		// Two blanks at the end of a line make a line break.
		r.buf = append(append(r.buf, strings.ReplaceAll(missing, "\n", "  \n")...), '\n')
	}
	return r.spill()
}

// rule writes the line below the header, which sets the alignment of columns.
func (r *markdownRenderer) rule(columns []gridColumn) {
	for i := range columns {
		if columns[i].left {
			r.buf = append(r.buf, "| --- "...)
		} else {
			r.buf = append(r.buf, "| ---: "...)
		}
	}
	r.buf = append(r.buf, "|\n"...)
}

// Note writes "kind: name=value" to Options.Notes, or as code if that is nil.
func (r *markdownRenderer) Note(kind string, fields ...NoteField) error {
	if r.notes != nil {
		return r.note("", "\n", appendNote(nil, kind, fields))
	}
	return r.asCode(r.text.Note(kind, fields...), false)
}

// written flushes the output of text to content.
func (r *markdownRenderer) written() error {
	r.fail("output", r.text.Flush())
	return r.err
}

// asCode writes the output of text as indented lines. apart begins a new block
// of code.
func (r *markdownRenderer) asCode(err error, apart bool) error {
	r.fail("output", err)
	if r.written() != nil || r.content.Len() == 0 {
		return r.err
	}
	if apart || !r.code {
		r.paragraph()
	}
	for line := range bytes.Lines(r.content.Bytes()) {
		if !r.partial && len(line) > 1 {
			r.buf = append(r.buf, "    "...)
		}
		r.buf = append(r.buf, line...)
		r.partial = line[len(line)-1] != '\n'
	}
	r.content.Reset()
	r.code = !apart
	return r.spill()
}

// paragraph ends the previous paragraph with an empty line.
func (r *markdownRenderer) paragraph() {
	if r.partial {
		r.buf = append(r.buf, '\n')
	}
	if r.begun {
		r.buf = append(r.buf, '\n')
	}
	r.begun, r.code, r.partial = true, false, false
}

// appendMarkdown appends a text without line ends; as code if it could contain
// markup. Names of threads and files come from untrusted users, and must not
// make links or mentions.
func appendMarkdown(dst, text []byte) []byte {
	text = bytes.TrimSpace(text)
	if !markup(text) {
		return append(dst, text...)
	}
	// The quotes around code must be longer than any quotes in it.
	quotes, run := 1, 0
	for _, c := range text {
		if run++; c != '`' {
			run = 0
		}
		quotes = max(quotes, run+1)
	}
	quote := strings.Repeat("`", quotes)
	blank := ""
	if text[0] == '`' || text[len(text)-1] == '`' {
		blank = " " // the reader removes it
	}
	dst = append(append(dst, quote...), blank...)
	for _, c := range text {
		if c == '|' {
			dst = append(dst, '\\') // a | ends a cell even in code
		}
		dst = append(dst, c)
	}
	return append(append(dst, blank...), quote...)
}

// markup reports whether a text has characters that could be markup.
func markup(text []byte) bool {
	colons := 0
	for i, c := range text {
		switch {
		case c == '_':
			// Within a word it is no markup.
			if i == 0 || i == len(text)-1 || !wordByte(text[i-1]) || !wordByte(text[i+1]) {
				return true
			}
		case c == ':':
			// Two colons may be an emoji; :// is a part of a URL.
			if colons++; colons > 1 || bytes.HasPrefix(text[i:], []byte("://")) {
				return true
			}
		case !wordByte(c) && bytes.IndexByte([]byte(" .,%()=+-/"), c) < 0:
			return true
		}
	}
	return bytes.Contains(bytes.ToLower(text), []byte("www."))
}

// wordByte reports whether a byte is a letter, a digit, or part of a character
// beyond ASCII.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}
