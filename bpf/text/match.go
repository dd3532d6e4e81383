package text

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
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

// mostSteps bounds the instructions of one match.
const mostSteps = 12000

// Matches jumps to l if "the text matches p" is want; what is p, for people.
func (e Code) Matches(off int16, size int, p *Pattern, what string, want bool, l assembler.Label) {
	c := e.Code
	n := len(p.Chars)
	if n > MostStates-2 {
		assembler.Refuse("a pattern of %d characters: %s", n, what)
	}
	if size*(8*len(p.Runs())+14) > mostSteps {
		assembler.Refuse("%s in texts of up to %d bytes", what, size-1)
	}
	step := e.Matcher(p)
	for i := range size {
		c.Emit(asm.LoadMem(asm.R1, asm.R10, off+int16(i), asm.Byte))
		step()
	}
	e.Matched(p, want, l)
}

// Matcher begins a match, and returns what moves it on by the byte in R1. R0 is how far it
// is; R2 to R4 are lost.
func (e Code) Matcher(p *Pattern) (step func()) {
	c, n, runs := e.Code, len(p.Chars), p.Runs()
	c.Emit(asm.Mov.Imm(asm.R0, 1))
	return func() {
		// R2 is the characters that match it: of a NUL, the pattern's end. R4
		// is where a byte, unless it is NUL, changes nothing.
		c.Emit(asm.Mov.Reg(asm.R2, asm.R1), asm.Sub.Imm(asm.R2, 1), asm.RSh.Imm(asm.R2, 63),
			asm.Mov.Reg(asm.R4, asm.R2),
			asm.LSh.Imm(asm.R2, int32(n)), asm.Xor.Imm(asm.R4, 1), asm.Mul.Imm(asm.R4, p.Stars))
		for _, r := range runs {
			c.Emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Imm(asm.R3, int32(r.From)), asm.And.Imm(asm.R3, 0xff),
				asm.Sub.Imm(asm.R3, int32(r.Count)), asm.RSh.Imm(asm.R3, 63), asm.Mul.Imm(asm.R3, r.Mask),
				asm.Or.Reg(asm.R2, asm.R3))
		}
		// Matched characters move on; in front of a star, and behind the end,
		// everything stays.
		c.Emit(asm.Or.Imm(asm.R4, over(p)), asm.And.Reg(asm.R4, asm.R0),
			asm.And.Reg(asm.R0, asm.R2), asm.LSh.Imm(asm.R0, 1), asm.Or.Reg(asm.R0, asm.R4))
	}
}

// Matched jumps to l if "the text matches p" is want, whose NUL was the last step.
func (e Code) Matched(p *Pattern, want bool, l assembler.Label) {
	e.Emit(asm.And.Imm(asm.R0, over(p)))
	e.IfTrue(asm.R0, want, l)
}

// over is the bit that says that the text is over, and matched.
func over(p *Pattern) int32 { return int32(1) << (len(p.Chars) + 1) }
