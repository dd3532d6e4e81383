package bpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// This file is Python's integer arithmetic within 64 bits, as
// expr/native_checked.go has it: a result that the node's type cannot hold
// fails. The left side is in R0, the right one in R1.

func (g *gen) checked(n *expr.Binary) {
	xu, yu, tu := n.X.Type().Unsigned, n.Y.Type().Unsigned, n.T.Unsigned
	k, isConst := n.Y.(*expr.Const)
	if isConst && k.Int >= 0 {
		yu = false // the same value read signed
	}
	g.both(n.X, n.Y)
	switch n.Op {
	case expr.OpAddC, expr.OpSubC:
		g.sumChecked(n.Op == expr.OpSubC, xu, yu, tu)
	case expr.OpAndC:
		g.bitsChecked(asm.And, xu, yu, tu)
	case expr.OpOrC:
		g.bitsChecked(asm.Or, xu, yu, tu)
	case expr.OpXorC:
		g.bitsChecked(asm.Xor, xu, yu, tu)
	case expr.OpMulC:
		g.mulChecked(xu, yu, tu)
	case expr.OpFloorDiv, expr.OpFloorMod:
		g.floorDivide(n.Op == expr.OpFloorMod, xu, yu, tu)
	case expr.OpShlC:
		g.shiftLeft(yu, tu)
	case expr.OpShrC:
		g.shiftRight(xu, yu)
	default:
		refuse("operator %s has no code for the kernel", n.Op)
	}
}

// high sets dst to the upper 64 bits of src as a 128-bit number.
func (g *gen) high(dst, src asm.Register, unsigned bool) {
	if unsigned {
		g.code.emit(asm.Mov.Imm(dst, 0))
		return
	}
	g.code.emit(asm.Mov.Reg(dst, src), asm.ArSh.Imm(dst, 63))
}

// narrow fails unless the 128-bit number hi:R0 fits 64 bits of the type.
func (g *gen) narrow(hi asm.Register, tu bool) {
	c := g.code
	if tu {
		g.failIf(asm.JNE, hi, 0)
		return
	}
	c.emit(asm.Mov.Reg(asm.R5, asm.R0), asm.ArSh.Imm(asm.R5, 63))
	c.ifReg(asm.JNE, hi, asm.R5, g.fail)
}

// sumChecked adds or subtracts in 128 bits.
func (g *gen) sumChecked(sub, xu, yu, tu bool) {
	c := g.code
	if !xu && !yu && !tu {
		// Fast path: with both signed, the signs tell.
		c.emit(asm.Mov.Reg(asm.R2, asm.R0))
		if sub {
			c.emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R2))
		} else {
			c.emit(asm.Add.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R0))
		}
		c.emit(asm.Xor.Reg(asm.R2, asm.R0), asm.And.Reg(asm.R1, asm.R2))
		g.failIf(asm.JSLT, asm.R1, 0)
		return
	}
	g.high(asm.R2, asm.R0, xu)
	g.high(asm.R3, asm.R1, yu)
	c.emit(asm.Mov.Reg(asm.R4, asm.R0))
	same := c.label()
	if sub {
		c.emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R2, asm.R3))
		c.ifReg(asm.JGE, asm.R4, asm.R1, same)
		c.emit(asm.Sub.Imm(asm.R2, 1))
	} else {
		c.emit(asm.Add.Reg(asm.R0, asm.R1), asm.Add.Reg(asm.R2, asm.R3))
		c.ifReg(asm.JGE, asm.R0, asm.R4, same)
		c.emit(asm.Add.Imm(asm.R2, 1))
	}
	c.place(same)
	g.narrow(asm.R2, tu)
}

func (g *gen) bitsChecked(op asm.ALUOp, xu, yu, tu bool) {
	c := g.code
	g.high(asm.R2, asm.R0, xu)
	g.high(asm.R3, asm.R1, yu)
	c.emit(op.Reg(asm.R0, asm.R1), op.Reg(asm.R2, asm.R3))
	g.narrow(asm.R2, tu)
}

// signs leaves in dst whether x's sign (R0) differs from y's (R1), as the top
// bit.
func (g *gen) signs(dst asm.Register, xu, yu bool) {
	c := g.code
	switch {
	case xu && yu:
		c.emit(asm.Mov.Imm(dst, 0))
	case xu:
		c.emit(asm.Mov.Reg(dst, asm.R1))
	case yu:
		c.emit(asm.Mov.Reg(dst, asm.R0))
	default:
		c.emit(asm.Mov.Reg(dst, asm.R0), asm.Xor.Reg(dst, asm.R1))
	}
}

// magnitudes makes R0 and R1 unsigned.
func (g *gen) magnitudes(xu, yu bool) {
	if !xu {
		g.absolute(asm.R0)
	}
	if !yu {
		g.absolute(asm.R1)
	}
}

// signed gives the magnitude in R0 the sign in the top bit of sign, and fails
// if that does not fit.
func (g *gen) signed(sign asm.Register, tu bool) {
	c := g.code
	positive, done := c.label(), c.label()
	c.ifImm(asm.JSGE, sign, 0, positive)
	if tu {
		g.failIf(asm.JNE, asm.R0, 0)
	} else {
		c.constant(asm.R5, math.MinInt64)
		c.ifReg(asm.JGT, asm.R0, asm.R5, g.fail)
	}
	c.emit(asm.Neg.Imm(asm.R0, 0))
	c.goTo(done)
	c.place(positive)
	if !tu {
		g.failIf(asm.JSLT, asm.R0, 0)
	}
	c.place(done)
}

// mulChecked multiplies magnitudes; that the product has more than 64 bits
// shows when it is divided again.
func (g *gen) mulChecked(xu, yu, tu bool) {
	c := g.code
	g.signs(asm.R2, xu, yu)
	g.magnitudes(xu, yu)
	c.emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mul.Reg(asm.R0, asm.R1))
	fits := c.label()
	c.ifImm(asm.JEq, asm.R3, 0, fits)
	c.emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Div.Reg(asm.R4, asm.R3))
	c.ifReg(asm.JNE, asm.R4, asm.R1, g.fail)
	c.place(fits)
	g.signed(asm.R2, tu)
}

// floorDivide rounds down: q*y + r == x, and r has the sign of y.
func (g *gen) floorDivide(mod, xu, yu, tu bool) {
	c := g.code
	g.failIf(asm.JEq, asm.R1, 0)
	g.signs(asm.R2, xu, yu) // of the quotient
	if yu {
		c.emit(asm.Mov.Imm(asm.R3, 0))
	} else {
		c.emit(asm.Mov.Reg(asm.R3, asm.R1)) // of the remainder
	}
	g.magnitudes(xu, yu)
	c.emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Mod.Reg(asm.R4, asm.R1)) // the rest
	exact := c.label()
	if mod {
		c.emit(asm.Mov.Reg(asm.R0, asm.R4))
		c.ifImm(asm.JSGE, asm.R2, 0, exact)
		c.ifImm(asm.JEq, asm.R4, 0, exact)
		c.emit(asm.Mov.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R0, asm.R4))
		c.place(exact)
		g.signed(asm.R3, tu)
		return
	}
	c.emit(asm.Div.Reg(asm.R0, asm.R1))
	c.ifImm(asm.JSGE, asm.R2, 0, exact)
	c.ifImm(asm.JEq, asm.R4, 0, exact)
	c.emit(asm.Add.Imm(asm.R0, 1))
	c.place(exact)
	g.signed(asm.R2, tu)
}

// shiftLeft fails if a bit is lost. 0 may be shifted by anything.
func (g *gen) shiftLeft(yu, tu bool) {
	c := g.code
	done := c.label()
	if !yu {
		g.failIf(asm.JSLT, asm.R1, 0)
	}
	c.ifImm(asm.JEq, asm.R0, 0, done)
	g.failIf(asm.JGT, asm.R1, 63)
	back := asm.ArSh
	if tu {
		back = asm.RSh
	}
	c.emit(asm.Mov.Reg(asm.R2, asm.R0), asm.And.Imm(asm.R1, 63), asm.LSh.Reg(asm.R0, asm.R1),
		asm.Mov.Reg(asm.R3, asm.R0), back.Reg(asm.R3, asm.R1))
	c.ifReg(asm.JNE, asm.R3, asm.R2, g.fail)
	c.place(done)
}

func (g *gen) shiftRight(xu, yu bool) {
	c := g.code
	if !yu {
		g.failIf(asm.JSLT, asm.R1, 0)
	}
	fits, done := c.label(), c.label()
	c.ifImm(asm.JLE, asm.R1, 63, fits)
	if xu {
		c.emit(asm.Mov.Imm(asm.R0, 0))
		c.goTo(done)
	} else {
		c.emit(asm.Mov.Imm(asm.R1, 63))
	}
	c.place(fits)
	op := asm.ArSh
	if xu {
		op = asm.RSh
	}
	c.emit(asm.And.Imm(asm.R1, 63), op.Reg(asm.R0, asm.R1))
	c.place(done)
}
