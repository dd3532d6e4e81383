package bpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// This file is Python's integer arithmetic within 64 bits, as
// expr/native_checked.go has it: a result that the node's type cannot hold
// fails. The left side is in R0, the right one in R1.

// An arith computes with the numbers in R0 and R1, and leaves the result in R0.
type arith struct {
	code *code
	fail label // where results go that do not fit
}

// checked is an operator whose result fails if the node's type cannot hold it.
func (a arith) checked(n *expr.Binary) {
	xu, yu, tu := n.X.Type().Unsigned, n.Y.Type().Unsigned, n.T.Unsigned
	k, isConst := n.Y.(*expr.Const)
	if isConst && k.Int >= 0 {
		yu = false // the same value read signed
	}
	switch n.Op {
	case expr.OpAddC, expr.OpSubC:
		a.sumChecked(n.Op == expr.OpSubC, xu, yu, tu)
	case expr.OpAndC:
		a.bitsChecked(asm.And, xu, yu, tu)
	case expr.OpOrC:
		a.bitsChecked(asm.Or, xu, yu, tu)
	case expr.OpXorC:
		a.bitsChecked(asm.Xor, xu, yu, tu)
	case expr.OpMulC:
		a.mulChecked(xu, yu, tu)
	case expr.OpFloorDiv, expr.OpFloorMod:
		a.floorDivide(n.Op == expr.OpFloorMod, xu, yu, tu)
	case expr.OpShlC:
		a.shiftLeft(yu, tu)
	case expr.OpShrC:
		a.shiftRight(xu, yu)
	default:
		refuse("operator %s has no code for the kernel", n.Op)
	}
}

// high sets dst to the upper 64 bits of src as a 128-bit number.
func (a arith) high(dst, src asm.Register, unsigned bool) {
	if unsigned {
		a.code.emit(asm.Mov.Imm(dst, 0))
		return
	}
	a.code.emit(asm.Mov.Reg(dst, src), asm.ArSh.Imm(dst, 63))
}

// narrow fails unless the 128-bit number hi:R0 fits 64 bits of the type.
func (a arith) narrow(hi asm.Register, tu bool) {
	c := a.code
	if tu {
		a.failIf(asm.JNE, hi, 0)
		return
	}
	c.emit(asm.Mov.Reg(asm.R5, asm.R0), asm.ArSh.Imm(asm.R5, 63))
	c.ifReg(asm.JNE, hi, asm.R5, a.fail)
}

// sumChecked adds or subtracts in 128 bits.
func (a arith) sumChecked(sub, xu, yu, tu bool) {
	c := a.code
	if !xu && !yu && !tu {
		// Fast path: with both signed, the signs tell.
		c.emit(asm.Mov.Reg(asm.R2, asm.R0))
		if sub {
			c.emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R2))
		} else {
			c.emit(asm.Add.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R0))
		}
		c.emit(asm.Xor.Reg(asm.R2, asm.R0), asm.And.Reg(asm.R1, asm.R2))
		a.failIf(asm.JSLT, asm.R1, 0)
		return
	}
	a.high(asm.R2, asm.R0, xu)
	a.high(asm.R3, asm.R1, yu)
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
	a.narrow(asm.R2, tu)
}

func (a arith) bitsChecked(op asm.ALUOp, xu, yu, tu bool) {
	c := a.code
	a.high(asm.R2, asm.R0, xu)
	a.high(asm.R3, asm.R1, yu)
	c.emit(op.Reg(asm.R0, asm.R1), op.Reg(asm.R2, asm.R3))
	a.narrow(asm.R2, tu)
}

// signs leaves in dst whether x's sign (R0) differs from y's (R1), as the top
// bit.
func (a arith) signs(dst asm.Register, xu, yu bool) {
	c := a.code
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
func (a arith) magnitudes(xu, yu bool) {
	if !xu {
		a.code.absolute(asm.R0)
	}
	if !yu {
		a.code.absolute(asm.R1)
	}
}

// signed gives the magnitude in R0 the sign in the top bit of sign, and fails
// if that does not fit.
func (a arith) signed(sign asm.Register, tu bool) {
	c := a.code
	positive, done := c.label(), c.label()
	c.ifImm(asm.JSGE, sign, 0, positive)
	if tu {
		a.failIf(asm.JNE, asm.R0, 0)
	} else {
		c.constant(asm.R5, math.MinInt64)
		c.ifReg(asm.JGT, asm.R0, asm.R5, a.fail)
	}
	c.emit(asm.Neg.Imm(asm.R0, 0))
	c.goTo(done)
	c.place(positive)
	if !tu {
		a.failIf(asm.JSLT, asm.R0, 0)
	}
	c.place(done)
}

// mulChecked multiplies magnitudes; that the product has more than 64 bits
// shows when it is divided again.
func (a arith) mulChecked(xu, yu, tu bool) {
	c := a.code
	a.signs(asm.R2, xu, yu)
	a.magnitudes(xu, yu)
	c.emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mul.Reg(asm.R0, asm.R1))
	fits := c.label()
	c.ifImm(asm.JEq, asm.R3, 0, fits)
	c.emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Div.Reg(asm.R4, asm.R3))
	c.ifReg(asm.JNE, asm.R4, asm.R1, a.fail)
	c.place(fits)
	a.signed(asm.R2, tu)
}

// floorDivide rounds down: q*y + r == x, and r has the sign of y.
func (a arith) floorDivide(mod, xu, yu, tu bool) {
	c := a.code
	a.failIf(asm.JEq, asm.R1, 0)
	a.signs(asm.R2, xu, yu) // of the quotient
	if yu {
		c.emit(asm.Mov.Imm(asm.R3, 0))
	} else {
		c.emit(asm.Mov.Reg(asm.R3, asm.R1)) // of the remainder
	}
	a.magnitudes(xu, yu)
	c.emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Mod.Reg(asm.R4, asm.R1)) // the rest
	exact := c.label()
	if mod {
		c.emit(asm.Mov.Reg(asm.R0, asm.R4))
		c.ifImm(asm.JSGE, asm.R2, 0, exact)
		c.ifImm(asm.JEq, asm.R4, 0, exact)
		c.emit(asm.Mov.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R0, asm.R4))
		c.place(exact)
		a.signed(asm.R3, tu)
		return
	}
	c.emit(asm.Div.Reg(asm.R0, asm.R1))
	c.ifImm(asm.JSGE, asm.R2, 0, exact)
	c.ifImm(asm.JEq, asm.R4, 0, exact)
	c.emit(asm.Add.Imm(asm.R0, 1))
	c.place(exact)
	a.signed(asm.R2, tu)
}

// shiftLeft fails if a bit is lost. 0 may be shifted by anything.
func (a arith) shiftLeft(yu, tu bool) {
	c := a.code
	done := c.label()
	if !yu {
		a.failIf(asm.JSLT, asm.R1, 0)
	}
	c.ifImm(asm.JEq, asm.R0, 0, done)
	a.failIf(asm.JGT, asm.R1, 63)
	back := asm.ArSh
	if tu {
		back = asm.RSh
	}
	c.emit(asm.Mov.Reg(asm.R2, asm.R0), asm.And.Imm(asm.R1, 63), asm.LSh.Reg(asm.R0, asm.R1),
		asm.Mov.Reg(asm.R3, asm.R0), back.Reg(asm.R3, asm.R1))
	c.ifReg(asm.JNE, asm.R3, asm.R2, a.fail)
	c.place(done)
}

func (a arith) shiftRight(xu, yu bool) {
	c := a.code
	if !yu {
		a.failIf(asm.JSLT, asm.R1, 0)
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

// divideSigned is C's division of R0 by R1, rounding to zero, from unsigned
// ones: signed division came with 6.6 only. The remainder has the sign of R0.
func (a arith) divideSigned(mod bool) {
	c := a.code
	a.failIf(asm.JEq, asm.R1, 0)
	// R2 remembers whether the result is negative.
	c.emit(asm.Mov.Reg(asm.R2, asm.R0))
	if !mod {
		c.emit(asm.Xor.Reg(asm.R2, asm.R1))
	}
	if !mod {
		// The one quotient that does not fit.
		fits := c.label()
		c.ifImm(asm.JNE, asm.R1, -1, fits)
		c.constant(asm.R3, math.MinInt64)
		c.ifReg(asm.JEq, asm.R0, asm.R3, a.fail)
		c.place(fits)
	}
	c.absolute(asm.R0)
	c.absolute(asm.R1)
	op := asm.Div
	if mod {
		op = asm.Mod
	}
	c.emit(op.Reg(asm.R0, asm.R1))
	done := c.label()
	c.ifImm(asm.JSGE, asm.R2, 0, done)
	c.emit(asm.Neg.Imm(asm.R0, 0))
	c.place(done)
}

// failIf jumps to where the failed evaluation is counted.
func (a arith) failIf(op asm.JumpOp, dst asm.Register, v int32) {
	a.code.ifImm(op, dst, v, a.fail)
}
