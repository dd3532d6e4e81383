package unwind

import "encoding/binary"

// A cursor reads numbers from the front of untrusted bytes. After it has
// reached the end, it stays bad and returns zeros.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) remaining() int { return len(c.b) - c.at }

func (c *cursor) take(n int) []byte {
	if c.bad || n < 0 || n > c.remaining() {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
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

// uleb reads an unsigned LEB128 number; bits above 64 are lost.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 || c.bad {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 || c.bad {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// text reads up to a NUL.
func (c *cursor) text() string {
	from := c.at
	for c.u8() != 0 {
	}
	if c.bad {
		return ""
	}
	return string(c.b[from : c.at-1])
}
