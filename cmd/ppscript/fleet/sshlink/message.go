package sshlink

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// MaxMessage is how long a message may be.
const MaxMessage = 1 << 20

// A Writer writes messages: a byte that says of which kind, the length as a varint, the message.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter writes messages.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Send writes a message, in one piece.
func (w *Writer) Send(kind byte, data []byte) error {
	b := append(binary.AppendUvarint([]byte{kind}, uint64(len(data))), data...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(b)
	return err
}

// A Reader reads messages, which anybody may have written.
type Reader struct{ from *bufio.Reader }

// NewReader reads messages.
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
