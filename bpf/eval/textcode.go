package eval

import (
	"encoding/binary"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file has the common parts of the code that works on texts in their places. The loops over
// their bytes are in textcompare.go, textmatch.go and textparts.go.
//
// Bounds are computed without branches: the verifier would follow each path through the
// rest of the program. (Since 6.18 it also splits paths at values that are 0 or all
// ones, so truths are 0 or 1, and are multiplied.) Bytes at a computed offset are copied
// by the helper that reads the kernel's memory, which includes the stack and scratch
// memory.

// textCode generates code for texts in their places.
type textCode struct {
	*assembler.Code
	Fail assembler.Label // jumped to if an operation fails
}

// Pad rounds n bytes up to whole words.
func Pad(n int) int { return (n + 7) &^ 7 }

// NoNUL refuses a constant with a NUL inside, which no text can equal.
func NoNUL(s string) {
	if indexNUL(s) >= 0 {
		assembler.Refuse("a text with a NUL inside")
	}
}

// indexNUL is the index of the first NUL of a text; -1 if there is none.
func indexNUL(s string) int {
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
	}
	return -1
}

// Words is s and zeros as 64-bit words.
func Words(s string, size int) []uint64 {
	b := make([]byte, size)
	copy(b, s)
	ws := make([]uint64, size/8)
	for i := range ws {
		ws[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return ws
}

// simpleGlob turns a glob without wildcards, or with stars only at its end,
// into an equality or a prefix; else ok is false.
func simpleGlob(p string) (text string, op expr.Op, ok bool) {
	op = expr.OpStrEq
	for i := range len(p) {
		switch p[i] {
		case '*':
			for _, r := range p[i:] {
				if r != '*' {
					return "", 0, false
				}
			}
			return p[:i], expr.OpPrefix, true
		case '?', '[':
			return "", 0, false
		}
	}
	return p, op, true
}
