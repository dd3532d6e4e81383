package perfdata

import (
	"bytes"

	"ppscript/runtime/source/bytecursor"
	"ppscript/runtime/text/plain"
)

// takeString reads a perf_header_string: a u32 size, then padded text.
func takeString(c *bytecursor.Cursor) string { return text(c.Take(uint64(c.U32()))) }

// text returns b up to its first NUL, without control characters. Only a
// damaged or hostile file has these, and they must not reach a terminal.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return plain.Line(string(b))
}
