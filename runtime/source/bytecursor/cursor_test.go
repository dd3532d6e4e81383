package bytecursor

import (
	"strings"
	"testing"
)

// TestCursorTakes checks that values come in their order, with their sizes.
func TestCursorTakes(t *testing.T) {
	c := Cursor{B: []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0ftext\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00abc" + "\x02\x00\x00\x00" + "wantrest")}
	if n := c.U8(); n != 1 {
		t.Errorf("got %#x", n)
	}
	if n := c.U16(); n != 0x0302 {
		t.Errorf("got %#x", n)
	}
	if n := c.U32(); n != 0x07060504 {
		t.Errorf("got %#x", n)
	}
	if n := c.U64(); n != 0x0f0e0d0c0b0a0908 {
		t.Errorf("got %#x", n)
	}
	if s := c.CStr(); s != "text" {
		t.Errorf("got %q", s)
	}
	if b := c.Blob(); string(b) != "abc" || cap(b) != 3 {
		t.Errorf("got %q of %d bytes, want no more than its own", b, cap(b))
	}
	if n := c.Count(4); n != 2 {
		t.Errorf("got %d", n)
	}
	c.Expect("want")
	if c.Err != nil || string(c.B) != "rest" || c.At != 39 {
		t.Errorf("got %v, %q left at %d", c.Err, c.B, c.At)
	}
}

// A value that does not fit is an error with its offset, once; all later reads are empty.
func TestCursorEnds(t *testing.T) {
	f := func(in string, take func(c *Cursor), want string) {
		t.Helper()
		c := Cursor{B: []byte(in), At: 100}
		take(&c)
		if c.Err == nil || !strings.HasPrefix(c.Err.Error(), want) {
			t.Errorf("%q: got %v, want %s", in, c.Err, want)
		}
		err := c.Err
		if c.U8() != 0 || c.U16() != 0 || c.U32() != 0 || c.U64() != 0 || c.CStr() != "" || c.Blob() != nil ||
			c.Count(1) != 0 || c.Take(0) != nil || c.Err != err {
			t.Errorf("%q: got something behind an error, %v", in, c.Err)
		}
	}
	f("abc", func(c *Cursor) { c.U32() }, "at byte 100: got 3 bytes, want 4")
	f("abc", func(c *Cursor) { c.U8(); c.U64() }, "at byte 101: got 2 bytes, want 8")
	f("abc", func(c *Cursor) { c.CStr() }, "at byte 100: text without an end")
	f("\xff\xff\xff\xff\xff\xff\xff\xffabc", func(c *Cursor) { c.Blob() },
		"at byte 108: got 3 bytes, want 18446744073709551615")
	f("\xff\xff\xff\xffabc", func(c *Cursor) { c.Count(1 << 31) },
		"at byte 104: 4294967295 entries do not fit in 3 bytes")
	f("\x04\x00\x00\x00abc", func(c *Cursor) { c.Count(1) }, "at byte 104: 4 entries do not fit in 3 bytes")
	f("abcd", func(c *Cursor) { c.Expect("abce") }, `at byte 100: got "abcd", want "abce"`)
}
