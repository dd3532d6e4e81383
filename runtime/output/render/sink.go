package render

import (
	"io"
	"strconv"

	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A sink is the output buffer that each renderer embeds. It keeps its first
// error.
type sink struct {
	w     io.Writer
	notes io.Writer
	buf   []byte
	err   error
}

// spill writes the buffer if it is large.
func (s *sink) spill() error {
	if len(s.buf) >= bufferBytes {
		return s.Flush()
	}
	return s.err
}

// Flush writes the buffer.
func (s *sink) Flush() error {
	if s.err == nil && len(s.buf) > 0 {
		_, err := s.w.Write(s.buf)
		s.fail("output", err)
	}
	s.buf = s.buf[:0]
	if cap(s.buf) > keptBytes {
		s.buf = nil // it was grown by one large result
	}
	return s.err
}

func (s *sink) fail(subject string, err error) {
	if err != nil && s.err == nil {
		s.err = &diag.Error{Op: "write", Subject: subject, Cause: err}
	}
}

// note writes one line to notes, or to the output after prefix if notes is nil.
func (s *sink) note(prefix, eol string, line []byte) error {
	if s.notes == nil {
		s.buf = append(s.buf, prefix...)
		s.buf = append(s.buf, line...)
		s.buf = append(s.buf, eol...)
		return s.spill()
	}
	_, err := s.notes.Write(append(line, '\n'))
	s.fail("notes", err)
	return s.err
}

// noteMissing writes a note with the number of rows that are not shown and the losses, for
// formats with comments.
func (s *sink) noteMissing(prefix, eol string, m *result.Meta, shown, omitted int) error {
	if m.Cost.Sampled() {
		line := appendSampled(append(plain.Append(nil, m.Name), ": "...), m.Cost, shown+omitted > 0)
		if err := s.note(prefix, eol, line); err != nil {
			return err
		}
	}
	if omitted == 0 && m.Loss.Zero() {
		return s.spill()
	}
	line := plain.Append(nil, m.Name)
	line = append(line, ':')
	if omitted > 0 {
		line = strconv.AppendInt(append(line, " omitted="...), int64(omitted), 10)
	}
	for _, c := range m.Loss.Counts() {
		if c.N > 0 || c.Name == "lost" && !m.Loss.Zero() {
			line = append(append(line, ' '), c.Name...)
			line = strconv.AppendUint(append(line, '='), c.N, 10)
		}
	}
	return s.note(prefix, eol, line)
}

// appendNote appends "kind: name=value name=value".
func appendNote(dst []byte, kind string, fields []NoteField) []byte {
	dst = plain.Append(dst, kind)
	dst = append(dst, ':')
	for _, f := range fields {
		dst = append(dst, ' ')
		dst = plain.Append(dst, f.Name)
		dst = append(dst, '=')
		dst = plain.Append(dst, f.Value.String())
	}
	return dst
}
