package render

import (
	"unicode"
	"unicode/utf8"
)

// wide has the ranges of characters that fill two cells of a terminal (East
// Asian Wide and Fullwidth in Unicode's UAX 11, and emoji).
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},
	{0xa000, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

// cells returns the number of terminal cells that b fills. b must be escaped
// text.
func cells(b []byte) int {
	n := 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			n, i = n+1, i+1
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		n, i = n+RuneCells(r), i+size
	}
	return n
}

// RuneCells returns the number of terminal cells that a character fills.
func RuneCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}

// appendPad appends n blanks.
func appendPad(dst []byte, n int) []byte {
	const blanks = "                                "
	for ; n > len(blanks); n -= len(blanks) {
		dst = append(dst, blanks...)
	}
	if n > 0 {
		dst = append(dst, blanks[:n]...)
	}
	return dst
}
