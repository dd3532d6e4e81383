package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// The header of a line table in version 5, with lists of directories and files.
func TestLineCounts(t *testing.T) {
	table := func(order binary.ByteOrder, lists ...byte) []byte {
		var b bytes.Buffer
		_ = binary.Write(&b, order, uint32(100))
		_ = binary.Write(&b, order, uint16(5))
		b.Write([]byte{8, 0})
		_ = binary.Write(&b, order, uint32(50))
		b.Write([]byte{1, 1, 1, 0xfb, 14, 2, 0}) // opcodes up to 1, of which one has a length
		b.Write(lists)
		return b.Bytes()
	}
	f := func(name string, want error, lists ...byte) {
		t.Helper()
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if err := countsFit(table(order, lists...), 0, order); !errors.Is(err, want) {
				t.Errorf("%s, %v: got %v, want %v", name, order, err, want)
			}
		}
	}
	dir := []byte{1, 1, 0x08, 2, '/', 'a', 0, 'b', 0}           // two strings
	file := []byte{2, 1, 0x1f, 2, 0x0b, 1, 0, 0, 0, 9, 1, 0xff} // an offset, and a byte
	f("as compilers write it", nil, append(dir, file...)...)
	f("no formats, many entries", errLineCounts, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0)
	f("more than bytes", errLineCounts, 1, 1, 0x0b, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0)
	f("more files than bytes", errLineCounts, append(dir, 1, 1, 0x0b, 0xff, 0x7f, 0)...)
	f("an unknown form", errLineCounts, 1, 1, 0x19, 1, 0, 0, 0)
	f("a text without end", errLineCounts, 1, 1, 0x08, 1, 'a')
	if err := countsFit(nil, 7, binary.LittleEndian); err == nil {
		t.Error("a table beyond the section fits")
	}
}
