package sshlink

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// MaxMessage bounds the length of a message, in bytes.
const MaxMessage = 1 << 20

// A Writer writes messages. A message is a byte for its kind, its length as a varint, and its
// data.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter returns a Writer of messages to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Send writes a message by one Write. Several goroutines may call it.
func (w *Writer) Send(kind byte, data []byte) error {
	b := append(binary.AppendUvarint([]byte{kind}, uint64(len(data))), data...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(b)
	return err
}

// A Reader reads messages. Their content is not trusted.
type Reader struct{ from *bufio.Reader }

// NewReader returns a Reader of messages from from.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReader(from)} }

// Receive reads the next message; io.EOF at the end.
func (r *Reader) Receive() (kind byte, data []byte, err error) {
	if kind, err = r.from.ReadByte(); err != nil {
		return 0, nil, err
	}
	size, err := binary.ReadUvarint(r.from)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("it ends within a message: %w", io.ErrUnexpectedEOF)
	case size > MaxMessage:
		return 0, nil, fmt.Errorf("a message has %d bytes, and may have %d", size, MaxMessage)
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(r.from, data); err != nil {
		return 0, nil, fmt.Errorf("it ends within a message: %w", io.ErrUnexpectedEOF)
	}
	return kind, data, nil
}
