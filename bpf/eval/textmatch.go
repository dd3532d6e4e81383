package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
)

// This file matches texts with globs, and finds parts of texts.
//
// The state of a match is one number, which each byte of the text changes: bit
// i says that i characters of the pattern have been matched. A table has, for
// each byte, the characters that match it. The code has no branches: the
// verifier would follow every path through every byte, while it follows code
// with unknown numbers once. Computing what a byte matches, instead of looking
// it up, took some 8 instructions for each range of bytes, and no program could
// have two globs.

// matches jumps to l if "the text matches p" is want. The parameter what is the
// text of the pattern p as the user wrote it, for the error.
func (e textCode) matches(off int16, size int, p *pattern, what string, want bool, l assembler.Label) {
	c := e.Code
	if n := len(p.Chars); n > mostStates-2 {
		assembler.Refuse("a pattern of %d characters: %s", n, what)
	}
	step := e.matcher(p)
	base, from := c.Base(off, asm.R4)
	for i := range size {
		c.Emit(asm.LoadMem(asm.R1, base, from+int16(i), asm.Byte))
		step()
	}
	e.matched(p, want, l)
}

// matcher begins a match. The code of step moves it on by the byte in R1. R0 is the state
// of the match; step overwrites R1 to R3. Steps after the first NUL change nothing.
func (e textCode) matcher(p *pattern) (step func()) {
	c, table := e.Code, assembler.NewTable(p.table())
	c.Emit(asm.Mov.Imm(asm.R0, 1))
	return func() {
		c.Table(asm.R2, table)
		c.Emit(asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R2, asm.R1),
			asm.LoadMem(asm.R3, asm.R2, tableMoves, asm.Word),
			asm.LoadMem(asm.R2, asm.R2, tableStays, asm.Word),
			// Matched characters move on; in front of a star, and behind the end, everything stays.
			asm.And.Reg(asm.R2, asm.R0),
			asm.And.Reg(asm.R0, asm.R3), asm.LSh.Imm(asm.R0, 1), asm.Or.Reg(asm.R0, asm.R2))
	}
}

// matched jumps to l if "the text matches p" is want, after the step of the text's
// NUL.
func (e textCode) matched(p *pattern, want bool, l assembler.Label) {
	e.Emit(asm.And.Imm(asm.R0, p.over()))
	e.IfTrue(asm.R0, want, l)
}
