package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
)

// A cursor takes little-endian values off a byte slice. The first take that
// does not fit sets err; every later one gives zero values, so that a parser
// checks once at its end.
type cursor struct {
	b   []byte
	off int // of b[0] in the input, for messages
	err error
}

func (c *cursor) take(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.b)) {
		c.err = fmt.Errorf("at byte %d: got %d bytes, want %d", c.off, len(c.b), n)
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	c.off += int(n)
	return out
}

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// str takes a perf_header_string: a u32 size, then padded text.
func (c *cursor) str() string { return text(c.take(uint64(c.u32()))) }

// cstr takes text up to and with its NUL.
func (c *cursor) cstr() string {
	if c.err != nil {
		return ""
	}
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		c.err = fmt.Errorf("at byte %d: text without an end", c.off)
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
		c.err = fmt.Errorf("at byte %d: %d entries do not fit in %d bytes", c.off, n, len(c.b))
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// text is b up to its first NUL. Control characters, which only a damaged or
// hostile file has there, must not reach a terminal.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, string(b))
}
