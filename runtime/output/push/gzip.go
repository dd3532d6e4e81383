package push

import (
	"bytes"
	"compress/gzip"
)

// Gzip compresses a body.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // writes to memory do not fail
	_ = w.Close()
	return b.Bytes()
}
