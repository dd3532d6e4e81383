package tracedat

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// A cursor takes little-endian values off a part of the file. The first take
// that does not fit sets err; later ones give zero values, so that a parser
// checks once at its end.
type cursor struct {
	b   []byte
	at  int // of b[0] in the file, for messages
	err error
}

func (c *cursor) take(n uint64) []byte {
	if c.err == nil && n > uint64(len(c.b)) {
		c.err = fmt.Errorf("at byte %d: got %d bytes, want %d", c.at, len(c.b), n)
	}
	if c.err != nil {
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	c.at += int(n)
	return out
}

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return le.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// cstr takes text up to and with its NUL.
func (c *cursor) cstr() string {
	i := bytes.IndexByte(c.b, 0)
	if c.err == nil && i < 0 {
		c.err = fmt.Errorf("at byte %d: text without an end", c.at)
	}
	if c.err != nil {
		return ""
	}
	return string(c.take(uint64(i) + 1)[:i])
}

// blob takes bytes with a u64 size in front.
func (c *cursor) blob() []byte { return c.take(c.u64()) }

// count takes a u32 number of things that need at least size bytes each.
func (c *cursor) count(size int) int {
	n := c.u32()
	if c.err == nil && uint64(n)*uint64(size) > uint64(len(c.b)) {
		c.err = fmt.Errorf("at byte %d: %d entries do not fit in %d bytes", c.at, n, len(c.b))
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// expect takes a text that has to be there.
func (c *cursor) expect(want string) {
	at := c.at
	if got := c.take(uint64(len(want))); c.err == nil && string(got) != want {
		c.err = fmt.Errorf("at byte %d: got %q, want %q", at, got, want)
	}
}

// text is b up to its first NUL.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
