// Package bytecursor reads numbers, texts and sizes from the bytes of untrusted files.
package bytecursor

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// A Cursor reads little-endian values from a part of a file. The first read that needs more
// bytes than are left sets Err. Later reads return zero values, so that a parser can check
// Err once at its end.
type Cursor struct {
	B   []byte // the bytes not read so far
	At  int    // offset of B[0] in the file, for messages
	Err error
}

// Take reads n bytes.
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

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if b := c.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Take(2); b != nil {
		return le.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Take(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (c *Cursor) U64() uint64 {
	if b := c.Take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// CStr reads a text and the NUL at its end.
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

// Blob reads a u64 size and then as many bytes.
func (c *Cursor) Blob() []byte { return c.Take(c.U64()) }

// Count reads a u32 number of entries, each of at least size bytes. It sets Err
// if the entries cannot fit.
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

// Expect reads a fixed text and sets Err if the bytes differ.
func (c *Cursor) Expect(want string) {
	at := c.At
	if got := c.Take(uint64(len(want))); c.Err == nil && string(got) != want {
		c.Err = fmt.Errorf("at byte %d: got %q, want %q", at, got, want)
	}
}
