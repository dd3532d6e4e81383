package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
	"ppscript/runtime/glob"
)

// This file matches texts with globs, and finds parts of texts.
//
// All positions that the pattern can be in are bits of one number, which each
// byte of the text moves on: bit i says that i characters of the pattern have
// been matched. There is not one branch in it: the verifier would follow every
// path through every byte by itself, while numbers that it knows nothing of
// cost it one pass. (It also splits on what can only be 0 or all ones, since
// 6.18: so truths are 0 or 1, and multiplied.) A byte is in a range if the
// distance from its beginning, wrapped to a byte, is small.

// mostStates bounds a pattern: its masks are constants of 32 bits with a sign.
const mostStates = 30

// mostSteps bounds the instructions of one match.
const mostSteps = 12000

// A pattern is a glob, character by character.
type pattern struct {
	chars []byteSet
	stars int32 // bit i: any text may stand in front of character i
}

// A byteSet is the bytes that a character matches, never NUL.
type byteSet [256]bool

// literal appends a text that matches itself.
func (p *pattern) literal(s string) {
	for i := range len(s) {
		var set byteSet
		set[s[i]] = true
		p.chars = append(p.chars, set)
	}
}

func (p *pattern) star() {
	if len(p.chars) <= mostStates {
		p.stars |= 1 << len(p.chars)
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
		p.chars = append(p.chars, set)
		s = s[n:]
	}
	return p
}

// matches jumps to l if "x matches p" is want.
func (e *eval) matches(x expr.Node, p *pattern, what string, want bool, l label) {
	c := e.code
	n := len(p.chars)
	if n > mostStates-2 {
		refuse("a pattern of %d characters: %s", n, what)
	}
	size := e.env.room(x)
	off := e.alloc(x)
	runs := p.runs()
	if size*(8*len(runs)+14) > mostSteps {
		refuse("%s in texts of up to %d bytes", what, size-1)
	}
	end := int32(1) << (n + 1) // the text is over, and matched
	c.emit(asm.Mov.Imm(asm.R0, 1))
	for i := range size {
		c.emit(asm.LoadMem(asm.R1, asm.R10, off+int16(i), asm.Byte))
		// R2 is the characters that match it: of a NUL, the pattern's end. R4
		// is where a byte, unless it is NUL, changes nothing.
		c.emit(asm.Mov.Reg(asm.R2, asm.R1), asm.Sub.Imm(asm.R2, 1), asm.RSh.Imm(asm.R2, 63),
			asm.Mov.Reg(asm.R4, asm.R2),
			asm.LSh.Imm(asm.R2, int32(n)), asm.Xor.Imm(asm.R4, 1), asm.Mul.Imm(asm.R4, p.stars))
		for _, r := range runs {
			c.emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Imm(asm.R3, int32(r.from)), asm.And.Imm(asm.R3, 0xff),
				asm.Sub.Imm(asm.R3, int32(r.count)), asm.RSh.Imm(asm.R3, 63), asm.Mul.Imm(asm.R3, r.mask),
				asm.Or.Reg(asm.R2, asm.R3))
		}
		// Matched characters move on; in front of a star, and behind the end,
		// everything stays.
		c.emit(asm.Or.Imm(asm.R4, end), asm.And.Reg(asm.R4, asm.R0),
			asm.And.Reg(asm.R0, asm.R2), asm.LSh.Imm(asm.R0, 1), asm.Or.Reg(asm.R0, asm.R4))
	}
	c.emit(asm.And.Imm(asm.R0, end))
	e.code.ifTrue(asm.R0, want, l)
}

// A run is count bytes from one on that the characters in mask match.
type run struct {
	from, count int
	mask        int32
}

// runs are the bytes that characters of the pattern match.
func (p *pattern) runs() []run {
	var masks [257]int32
	for i, set := range p.chars {
		for b, in := range set {
			if in {
				masks[b] |= 1 << i
			}
		}
	}
	var runs []run
	for from := 1; from < 256; {
		to := from
		for to < 256 && masks[to] == masks[from] {
			to++
		}
		if masks[from] != 0 {
			runs = append(runs, run{from, to - from, masks[from]})
		}
		from = to
	}
	return runs
}
