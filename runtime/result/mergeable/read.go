package mergeable

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Reader reads a stream of frames, which may come from anyone.
type Reader struct {
	from  *bufio.Reader
	begun bool
	buf   []byte
}

// NewReader makes a Reader.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReader(from)} }

// Raw returns the bytes of the next frame, valid until the next call; io.EOF at the end of the
// stream.
func (r *Reader) Raw() ([]byte, error) {
	if !r.begun {
		head := make([]byte, len(Header))
		n, err := io.ReadFull(r.from, head)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if string(head) != Header {
			return nil, fmt.Errorf("%w: it begins with %q", errForm, head[:n])
		}
		r.begun = true
	}
	size, err := binary.ReadUvarint(r.from)
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errForm, err)
	case size > MaxFrame:
		return nil, fmt.Errorf("%w: got %d bytes, want at most %d", errForm, size, MaxFrame)
	}
	if uint64(cap(r.buf)) < size {
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	if _, err := io.ReadFull(r.from, r.buf); err != nil {
		return nil, fmt.Errorf("%w: it ends within a frame", errForm)
	}
	return r.buf, nil
}

// Next decodes the next frame.
func (r *Reader) Next() (*Frame, error) {
	b, err := r.Raw()
	if err != nil {
		return nil, err
	}
	return Decode(b)
}
