package eval

import (
	"encoding/binary"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file has what is common to the code that works on texts in their places. The loops over their bytes
// are in textcompare.go, textmatch.go and textparts.go.
//
// Bounds are computed without branches: the verifier would follow each path through
// the rest of the program. (What is 0 or all ones it splits as well, since 6.18, so
// truths are 0 or 1, and multiplied.) Bytes at a place that is computed are copied by
// the helper that reads memory of the kernel: the stack and scratch memory are that too.

// A textCode writes what a program does with its texts.
type textCode struct {
	*assembler.Code
	Fail assembler.Label // where what cannot be done goes
}

// Pad is the room for n bytes.
func Pad(n int) int { return (n + 7) &^ 7 }

// NoNUL refuses a constant that no text can be, since it has a NUL inside.
func NoNUL(s string) {
	if indexNUL(s) >= 0 {
		assembler.Refuse("a text with a NUL inside")
	}
}

// indexNUL is where the first NUL of a text is; -1 is nowhere.
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

// simpleGlob turns a glob into an equality or a prefix, if it is one.
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
