package bpf

import "github.com/cilium/ebpf/asm"

// This file computes with registers alone.

// ifTrue jumps to l if the truth of r is want.
func (c *code) ifTrue(r asm.Register, want bool, l label) {
	op := asm.JNE
	if !want {
		op = asm.JEq
	}
	c.ifImm(op, r, 0, l)
}

// extend cuts r to bits and extends it again.
func (c *code) extend(r asm.Register, bits int, signed bool) {
	if bits == 64 {
		return
	}
	by := int32(64 - bits)
	switch {
	case signed:
		c.emit(asm.LSh.Imm(r, by), asm.ArSh.Imm(r, by))
	case bits == 32:
		c.emit(asm.Mov.Reg32(r, r))
	default:
		c.emit(asm.And.Imm(r, int32(1)<<bits-1))
	}
}

// absolute makes r its magnitude, which fits 64 unsigned bits.
func (c *code) absolute(r asm.Register) {
	done := c.label()
	c.ifImm(asm.JSGE, r, 0, done)
	c.emit(asm.Neg.Imm(r, 0))
	c.place(done)
}

// A desk is code for arithmetic.
type desk struct{ *code }

func (d desk) Emit(ins ...asm.Instruction)                             { d.emit(ins...) }
func (d desk) Constant(dst asm.Register, v int64)                      { d.constant(dst, v) }
func (d desk) Absolute(r asm.Register)                                 { d.absolute(r) }
func (d desk) Label() label                                            { return d.label() }
func (d desk) Place(l label)                                           { d.place(l) }
func (d desk) GoTo(l label)                                            { d.goTo(l) }
func (d desk) IfImm(op asm.JumpOp, dst asm.Register, v int32, l label) { d.ifImm(op, dst, v, l) }
func (d desk) IfReg(op asm.JumpOp, dst, src asm.Register, l label)     { d.ifReg(op, dst, src, l) }

// log2 leaves in dst the bit length of src, 0 for 0; src is changed.
func (c *code) log2(dst, src asm.Register) {
	c.emit(asm.Mov.Imm(dst, 0))
	for by := int32(32); by > 0; by /= 2 {
		less := c.label()
		c.emit(asm.Mov.Reg(asm.R5, src), asm.RSh.Imm(asm.R5, by))
		c.ifImm(asm.JEq, asm.R5, 0, less)
		c.emit(asm.Add.Imm(dst, by), asm.Mov.Reg(src, asm.R5))
		c.place(less)
	}
	c.emit(asm.Add.Reg(dst, src)) // the rest is the top bit itself
}
