// Package bytecursor reads files of others: numbers, texts and sizes, off bytes that cannot be
// trusted.
package bytecursor

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// A Cursor takes little-endian values off a part of a file. The first take that does not fit
// sets Err; later ones give zero values, so that a parser checks once at its end.
type Cursor struct {
	B   []byte // what is left
	At  int    // of B[0] in the file, for messages
	Err error
}

// Take takes n bytes.
func (c *Cursor) Take(n uint64) []byte {
	if c.Err == nil && n > uint64(len(c.B)) {
		c.Err = fmt.Errorf("at byte %d: got %d bytes, want %d", c.At, len(c.B), n)
	}
	if c.Err != nil {
		return nil
	}
	out := c.B[:n:n]
	c.B = c.B[n:]
	c.At += int(n)
	return out
}

// U8 takes a byte.
func (c *Cursor) U8() uint8 {
	if b := c.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 takes two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Take(2); b != nil {
		return le.Uint16(b)
	}
	return 0
}

// U32 takes four.
func (c *Cursor) U32() uint32 {
	if b := c.Take(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

// U64 takes eight.
func (c *Cursor) U64() uint64 {
	if b := c.Take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// CStr takes text up to and with its NUL.
func (c *Cursor) CStr() string {
	i := bytes.IndexByte(c.B, 0)
	if c.Err == nil && i < 0 {
		c.Err = fmt.Errorf("at byte %d: text without an end", c.At)
	}
	if c.Err != nil {
		return ""
	}
	return string(c.Take(uint64(i) + 1)[:i])
}

// Blob takes bytes with a u64 size in front.
func (c *Cursor) Blob() []byte { return c.Take(c.U64()) }

// Count takes a u32 number of things that need at least size bytes each.
func (c *Cursor) Count(size int) int {
	n := c.U32()
	if c.Err == nil && uint64(n)*uint64(size) > uint64(len(c.B)) {
		c.Err = fmt.Errorf("at byte %d: %d entries do not fit in %d bytes", c.At, n, len(c.B))
	}
	if c.Err != nil {
		return 0
	}
	return int(n)
}

// Expect takes a text that has to be there.
func (c *Cursor) Expect(want string) {
	at := c.At
	if got := c.Take(uint64(len(want))); c.Err == nil && string(got) != want {
		c.Err = fmt.Errorf("at byte %d: got %q, want %q", at, got, want)
	}
}
