package interpreter

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
)

// This file reads Python's code objects from the memory of a process.

// A code is a code object that was read.
type code struct {
	name, file string
	first      int
	lines      []byte
	layout     *layout
}

// Bounds on the parts of an object that are read: characters of a text, bytes
// of its lines.
const (
	maxText  = 512
	maxLines = 64 << 10
)

// readCode reads a code object; false if it does not have that check.
func readCode(mem io.ReaderAt, l *layout, codeType, at, check uint64) (c code, ok bool) {
	var b [1024 + 64]byte
	size := max(l.code.strings+24, l.code.lines+8, l.code.first+4)
	if _, err := mem.ReadAt(b[:size], int64(at)); err != nil {
		return c, false
	}
	le := binary.LittleEndian
	strings := b[l.code.strings:]
	a, n, q := le.Uint64(strings), le.Uint64(strings[8:]), le.Uint64(strings[16:])
	if le.Uint64(b[8:]) != codeType || interpreted.Check(a, n, q) != check {
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
	c.layout = l
	return c, same(mem, at+l.code.strings, check)
}

// line returns the source line of a position in the code.
func (c *code) line(f interpreted.Frame) int {
	instr := f.Instr &^ interpreted.IsEntry
	at := int64(instr - f.Code - c.layout.code.begin)
	switch c.layout.minor {
	case 9:
		at = int64(int32(instr))
	case 10:
		at = 2 * int64(int32(instr))
	}
	if at > 1<<30 || at < -2 {
		return 0
	}
	return lineOf(c.layout.minor, c.lines, c.first, int(at))
}

func (c *code) bytes() int { return len(c.name) + len(c.file) + len(c.lines) }

func (c *code) frame(_ io.ReaderAt, f interpreted.Frame) result.Frame {
	return result.Frame{Symbol: c.name, DSO: c.file, File: c.file, Line: c.line(f)}
}

// readBytes reads a bytes object; nil if it is not one.
func readBytes(mem io.ReaderAt, at uint64) []byte {
	var head [32]byte
	if _, err := mem.ReadAt(head[:], int64(at)); err != nil {
		return nil
	}
	return piece(mem, at+32, binary.LittleEndian.Uint64(head[16:]))
}

// readText reads a compact text object, as names are.
func readText(mem io.ReaderAt, l textLayout, at uint64) (string, bool) {
	var head [40]byte
	if _, err := mem.ReadAt(head[:], int64(at)); err != nil {
		return "", false
	}
	le := binary.LittleEndian
	length, state := le.Uint64(head[16:]), le.Uint32(head[32:])>>2
	if state&7 == 0 { // early releases of 3.14 have more low bits, which are 0 or small
		state >>= 14
	}
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
