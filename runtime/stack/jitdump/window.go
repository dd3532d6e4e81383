package jitdump

import (
	"bytes"
	"io"
)

// A window is a part of a file in memory.
type window struct {
	from  io.ReaderAt
	begin int64
	bytes []byte
	room  []byte
}

// usual is the number of bytes that are read at once.
const usual = 128 << 10

// at returns bytes of the file, valid until the next call; nil if the file is too
// short.
func (w *window) at(off int64, n int) []byte {
	if i := off - w.begin; i >= 0 && i+int64(n) <= int64(len(w.bytes)) {
		return w.bytes[i:][:n]
	}
	if size := max(usual, n); len(w.room) < size {
		w.room = make([]byte, size)
	}
	got, _ := w.from.ReadAt(w.room, off)
	w.begin, w.bytes = off, w.room[:got]
	if got < n {
		return nil
	}
	return w.bytes[:n]
}

func indexNul(b []byte) int { return bytes.IndexByte(b, 0) }
