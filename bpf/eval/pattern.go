package eval

import (
	"encoding/binary"

	"ppscript/runtime/text/glob"
)

// This file turns globs, and texts to find, into patterns: a list of characters, each
// with the bytes that it matches. textmatch.go generates the code that follows a
// pattern.

// mostStates bounds the length of a pattern: its states are bits of a signed
// 32-bit constant.
const mostStates = 30

// pattern is a glob, character by character.
type pattern struct {
	Chars []byteSet
	Stars int32 // bit i: any text may stand in front of character i
}

// byteSet holds the bytes that a character matches, never NUL.
type byteSet [256]bool

// literal appends a text that matches itself.
func (p *pattern) literal(s string) {
	for i := range len(s) {
		var set byteSet
		set[s[i]] = true
		p.Chars = append(p.Chars, set)
	}
}

// star lets any text stand in front of what is appended next.
func (p *pattern) star() {
	if len(p.Chars) <= mostStates {
		p.Stars |= 1 << len(p.Chars)
	}
}

// globPattern parses a glob; see package glob.
func globPattern(s string) *pattern {
	p := &pattern{}
	for len(s) > 0 {
		n := 1
		switch s[0] {
		case '*':
			p.star()
			s = s[1:]
			continue
		case '[':
			if end := glob.SetEnd(s); end > 0 {
				n = end + 1
			}
		}
		var set byteSet
		for b := 1; b < 256; b++ {
			set[b] = glob.Match(s[:n], string([]byte{byte(b)}))
		}
		p.Chars = append(p.Chars, set)
		s = s[n:]
	}
	return p
}

// A table has one entry for each byte: two 32-bit masks of characters, at these offsets. At
// characters of the first mask, which match the byte, a match moves on; at characters of the second
// it stays.
const (
	tableMoves = 0
	tableStays = 4
	entrySize  = 8
)

// table has an entry for each byte. A NUL moves from the end of the pattern to
// over.
func (p *pattern) table() []byte {
	table := make([]byte, 256*entrySize)
	for b := range 256 {
		moves, stays := uint32(0), uint32(p.over())
		if b == 0 {
			moves = 1 << len(p.Chars)
		} else {
			stays |= uint32(p.Stars)
		}
		for i := range p.Chars {
			if p.Chars[i][b] {
				moves |= 1 << i
			}
		}
		binary.NativeEndian.PutUint32(table[b*entrySize+tableMoves:], moves)
		binary.NativeEndian.PutUint32(table[b*entrySize+tableStays:], stays)
	}
	return table
}

// over is the bit of the state in which the text has ended and matched.
func (p *pattern) over() int32 { return 1 << (len(p.Chars) + 1) }
