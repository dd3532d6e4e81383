package tracedat

import (
	"bytes"
	"encoding/binary"
)

var le = binary.LittleEndian

// text returns b up to its first NUL.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
