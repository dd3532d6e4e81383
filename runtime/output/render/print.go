package render

import (
	"bytes"

	"ppscript/runtime/text/plain"
)

// print writes a script's own text. Control characters other than line ends and
// tabs are escaped.
func (r *textRenderer) print(text []byte) error {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		r.buf = plain.Append(r.buf, string(line))
		if ended {
			r.buf = append(r.buf, '\n')
		}
		text = rest
	}
	return r.spill()
}

// print writes the text as a record of type print.
func (r *jsonRenderer) print(text []byte) error {
	r.begin("print")
	r.buf = append(r.buf, `"text":`...)
	r.buf = appendJSONString(r.buf, string(text))
	return r.end()
}

// print writes the text as a comment, or to the notes.
func (r *csvRenderer) print(text []byte) error {
	for line := range bytes.Lines(text) {
		line = plain.AppendLines(nil, string(bytes.TrimRight(line, "\n")))
		if err := r.note("# ", "\n", line); err != nil {
			return err
		}
	}
	return r.err
}
