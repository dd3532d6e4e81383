package assembler

import "github.com/cilium/ebpf/asm"

// This file has computations that need registers only, no memory.

// IfTrue jumps to l if the truth of r is want.
func (c *Code) IfTrue(r asm.Register, want bool, l Label) {
	op := asm.JNE
	if !want {
		op = asm.JEq
	}
	c.IfImm(op, r, 0, l)
}

// Extend cuts r to its lower bits and extends these to 64 bits again.
func (c *Code) Extend(r asm.Register, bits int, signed bool) {
	if bits == 64 {
		return
	}
	by := int32(64 - bits)
	switch {
	case signed:
		c.Emit(asm.LSh.Imm(r, by), asm.ArSh.Imm(r, by))
	case bits == 32:
		c.Emit(asm.Mov.Reg32(r, r))
	default:
		c.Emit(asm.And.Imm(r, int32(1)<<bits-1))
	}
}

// Absolute replaces r by its absolute value, as an unsigned number.
func (c *Code) Absolute(r asm.Register) {
	done := c.Label()
	c.IfImm(asm.JSGE, r, 0, done)
	c.Emit(asm.Neg.Imm(r, 0))
	c.Place(done)
}

// Log2 leaves in dst the bit length of src, 0 for 0; src is changed.
func (c *Code) Log2(dst, src asm.Register) {
	c.Emit(asm.Mov.Imm(dst, 0))
	for by := int32(32); by > 0; by /= 2 {
		less := c.Label()
		c.Emit(asm.Mov.Reg(asm.R5, src), asm.RSh.Imm(asm.R5, by))
		c.IfImm(asm.JEq, asm.R5, 0, less)
		c.Emit(asm.Add.Imm(dst, by), asm.Mov.Reg(src, asm.R5))
		c.Place(less)
	}
	c.Emit(asm.Add.Reg(dst, src)) // the rest is the top bit itself
}
