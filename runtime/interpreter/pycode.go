package interpreter

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// This file reads code objects from the memory of a process. The process goes on meanwhile: what is
// read may be anything, and counts only if it is the object of the sample.

// A code is a code object, as read.
type code struct {
	name, file string
	first      int
	lines      []byte
}

// Bounds of what is read of an object: letters of a text, bytes of its lines.
const (
	maxText  = 512
	maxLines = 64 << 10
)

// hashFactor is that of the program's check.
const hashFactor = 1099511628211

// readCode reads an object; false if it is not, or no longer, the one with that check.
func readCode(mem io.ReaderAt, l *layout, codeType, at, check uint64) (c code, ok bool) {
	var b [1024 + 64]byte
	size := max(l.code.strings+24, l.code.lines+8, l.code.first+4)
	if _, err := mem.ReadAt(b[:size], int64(at)); err != nil {
		return c, false
	}
	le := binary.LittleEndian
	strings := b[l.code.strings:]
	a, n, q := le.Uint64(strings), le.Uint64(strings[8:]), le.Uint64(strings[16:])
	if le.Uint64(b[8:]) != codeType || ((a*hashFactor^n)*hashFactor)^q != check {
		return c, false
	}
	if l.code.qualified {
		n = q
	}
	name, ok1 := readText(mem, l.text, n)
	file, ok2 := readText(mem, l.text, a)
	if !ok1 || !ok2 || name == "" {
		return c, false
	}
	c = code{name: name, file: file, first: int(int32(le.Uint32(b[l.code.first:])))}
	c.lines = readBytes(mem, le.Uint64(b[l.code.lines:]))

	// Once more: is it still that object?
	if _, err := mem.ReadAt(b[:24], int64(at+l.code.strings)); err != nil {
		return c, false
	}
	a, n, q = le.Uint64(b[:]), le.Uint64(b[8:]), le.Uint64(b[16:])
	return c, ((a*hashFactor^n)*hashFactor)^q == check
}

// readBytes reads an object of bytes, nil if it is none.
func readBytes(mem io.ReaderAt, at uint64) []byte {
	var head [32]byte
	if _, err := mem.ReadAt(head[:], int64(at)); err != nil {
		return nil
	}
	size := binary.LittleEndian.Uint64(head[16:])
	if size > maxLines {
		return nil
	}
	b := make([]byte, size)
	if _, err := mem.ReadAt(b, int64(at+32)); err != nil {
		return nil
	}
	return b
}

// readText reads a text that lies in one piece, as names do.
func readText(mem io.ReaderAt, l textLayout, at uint64) (string, bool) {
	var head [40]byte
	if _, err := mem.ReadAt(head[:], int64(at)); err != nil {
		return "", false
	}
	le := binary.LittleEndian
	length, state := le.Uint64(head[16:]), le.Uint32(head[32:])>>l.kind
	kind, compact, ascii := uint64(state&7), state>>3&1 != 0, state>>4&1 != 0
	if length > 1<<20 || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", false
	}
	length = min(length, maxText)
	from := at + l.compact
	if ascii {
		from = at + l.ascii
	}
	b := make([]byte, length*kind)
	if _, err := mem.ReadAt(b, int64(from)); err != nil {
		return "", false
	}
	if ascii {
		return string(b), true
	}
	var text []byte
	switch kind {
	case 1:
		for _, x := range b {
			text = utf8.AppendRune(text, rune(x))
		}
	case 2:
		for ; len(b) > 0; b = b[2:] {
			r := rune(le.Uint16(b))
			if utf16.IsSurrogate(r) {
				r = utf8.RuneError
			}
			text = utf8.AppendRune(text, r)
		}
	case 4:
		for ; len(b) > 0; b = b[4:] {
			text = utf8.AppendRune(text, rune(le.Uint32(b)))
		}
	}
	return string(text), true
}
