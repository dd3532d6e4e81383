package eval

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file is Python's integer arithmetic within 64 bits, as
// expr/native_checked.go has it: a result that the node's type cannot hold
// fails. The left side is in R0, the right one in R1.

// ints computes with the numbers in R0 and R1, and leaves the result in R0.
type ints struct {
	*assembler.Code
	fail assembler.Label // jumped to if a result does not fit
}

// checked computes an operator that fails if the node's type cannot hold the result;
// false if n is no such operator.
func (a ints) checked(n *expr.Binary) bool {
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
		return false
	}
	return true
}

// high sets dst to the upper 64 bits of src as a 128-bit number.
func (a ints) high(dst, src asm.Register, unsigned bool) {
	if unsigned {
		a.Code.Emit(asm.Mov.Imm(dst, 0))
		return
	}
	a.Code.Emit(asm.Mov.Reg(dst, src), asm.ArSh.Imm(dst, 63))
}

// narrow fails unless the 128-bit number hi:R0 fits 64 bits of the type.
func (a ints) narrow(hi asm.Register, tu bool) {
	c := a.Code
	if tu {
		a.failIf(asm.JNE, hi, 0)
		return
	}
	c.Emit(asm.Mov.Reg(asm.R5, asm.R0), asm.ArSh.Imm(asm.R5, 63))
	c.IfReg(asm.JNE, hi, asm.R5, a.fail)
}

// sumChecked adds or subtracts in 128 bits.
func (a ints) sumChecked(sub, xu, yu, tu bool) {
	c := a.Code
	if !xu && !yu && !tu {
		// Fast path: if both are signed, the signs show an overflow.
		c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
		if sub {
			c.Emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R2))
		} else {
			c.Emit(asm.Add.Reg(asm.R0, asm.R1), asm.Xor.Reg(asm.R1, asm.R0))
		}
		c.Emit(asm.Xor.Reg(asm.R2, asm.R0), asm.And.Reg(asm.R1, asm.R2))
		a.failIf(asm.JSLT, asm.R1, 0)
		return
	}
	a.high(asm.R2, asm.R0, xu)
	a.high(asm.R3, asm.R1, yu)
	c.Emit(asm.Mov.Reg(asm.R4, asm.R0))
	same := c.Label()
	if sub {
		c.Emit(asm.Sub.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R2, asm.R3))
		c.IfReg(asm.JGE, asm.R4, asm.R1, same)
		c.Emit(asm.Sub.Imm(asm.R2, 1))
	} else {
		c.Emit(asm.Add.Reg(asm.R0, asm.R1), asm.Add.Reg(asm.R2, asm.R3))
		c.IfReg(asm.JGE, asm.R0, asm.R4, same)
		c.Emit(asm.Add.Imm(asm.R2, 1))
	}
	c.Place(same)
	a.narrow(asm.R2, tu)
}

func (a ints) bitsChecked(op asm.ALUOp, xu, yu, tu bool) {
	c := a.Code
	a.high(asm.R2, asm.R0, xu)
	a.high(asm.R3, asm.R1, yu)
	c.Emit(op.Reg(asm.R0, asm.R1), op.Reg(asm.R2, asm.R3))
	a.narrow(asm.R2, tu)
}

// signs leaves in dst whether x's sign (R0) differs from y's (R1), as the top
// bit.
func (a ints) signs(dst asm.Register, xu, yu bool) {
	c := a.Code
	switch {
	case xu && yu:
		c.Emit(asm.Mov.Imm(dst, 0))
	case xu:
		c.Emit(asm.Mov.Reg(dst, asm.R1))
	case yu:
		c.Emit(asm.Mov.Reg(dst, asm.R0))
	default:
		c.Emit(asm.Mov.Reg(dst, asm.R0), asm.Xor.Reg(dst, asm.R1))
	}
}

// magnitudes makes R0 and R1 unsigned.
func (a ints) magnitudes(xu, yu bool) {
	if !xu {
		a.Code.Absolute(asm.R0)
	}
	if !yu {
		a.Code.Absolute(asm.R1)
	}
}

// signed gives the magnitude in R0 the sign in the top bit of sign, and fails
// if that does not fit.
func (a ints) signed(sign asm.Register, tu bool) {
	c := a.Code
	positive, done := c.Label(), c.Label()
	c.IfImm(asm.JSGE, sign, 0, positive)
	if tu {
		a.failIf(asm.JNE, asm.R0, 0)
	} else {
		c.Constant(asm.R5, math.MinInt64)
		c.IfReg(asm.JGT, asm.R0, asm.R5, a.fail)
	}
	c.Emit(asm.Neg.Imm(asm.R0, 0))
	c.GoTo(done)
	c.Place(positive)
	if !tu {
		a.failIf(asm.JSLT, asm.R0, 0)
	}
	c.Place(done)
}

// mulChecked multiplies magnitudes. To see whether the product has more than 64
// bits, it divides it again.
func (a ints) mulChecked(xu, yu, tu bool) {
	c := a.Code
	a.signs(asm.R2, xu, yu)
	a.magnitudes(xu, yu)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mul.Reg(asm.R0, asm.R1))
	fits := c.Label()
	c.IfImm(asm.JEq, asm.R3, 0, fits)
	c.Emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Div.Reg(asm.R4, asm.R3))
	c.IfReg(asm.JNE, asm.R4, asm.R1, a.fail)
	c.Place(fits)
	a.signed(asm.R2, tu)
}

// floorDivide rounds down: q*y + r == x, and r has the sign of y.
func (a ints) floorDivide(mod, xu, yu, tu bool) {
	c := a.Code
	a.failIf(asm.JEq, asm.R1, 0)
	a.signs(asm.R2, xu, yu) // of the quotient
	if yu {
		c.Emit(asm.Mov.Imm(asm.R3, 0))
	} else {
		c.Emit(asm.Mov.Reg(asm.R3, asm.R1)) // of the remainder
	}
	a.magnitudes(xu, yu)
	c.Emit(asm.Mov.Reg(asm.R4, asm.R0), asm.Mod.Reg(asm.R4, asm.R1)) // the rest
	exact := c.Label()
	if mod {
		c.Emit(asm.Mov.Reg(asm.R0, asm.R4))
		c.IfImm(asm.JSGE, asm.R2, 0, exact)
		c.IfImm(asm.JEq, asm.R4, 0, exact)
		c.Emit(asm.Mov.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R0, asm.R4))
		c.Place(exact)
		a.signed(asm.R3, tu)
		return
	}
	c.Emit(asm.Div.Reg(asm.R0, asm.R1))
	c.IfImm(asm.JSGE, asm.R2, 0, exact)
	c.IfImm(asm.JEq, asm.R4, 0, exact)
	c.Emit(asm.Add.Imm(asm.R0, 1))
	c.Place(exact)
	a.signed(asm.R2, tu)
}

// shiftLeft fails if a bit is lost. 0 may be shifted by anything.
func (a ints) shiftLeft(yu, tu bool) {
	c := a.Code
	done := c.Label()
	if !yu {
		a.failIf(asm.JSLT, asm.R1, 0)
	}
	c.IfImm(asm.JEq, asm.R0, 0, done)
	a.failIf(asm.JGT, asm.R1, 63)
	back := asm.ArSh
	if tu {
		back = asm.RSh
	}
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.And.Imm(asm.R1, 63), asm.LSh.Reg(asm.R0, asm.R1),
		asm.Mov.Reg(asm.R3, asm.R0), back.Reg(asm.R3, asm.R1))
	c.IfReg(asm.JNE, asm.R3, asm.R2, a.fail)
	c.Place(done)
}

func (a ints) shiftRight(xu, yu bool) {
	c := a.Code
	if !yu {
		a.failIf(asm.JSLT, asm.R1, 0)
	}
	fits, done := c.Label(), c.Label()
	c.IfImm(asm.JLE, asm.R1, 63, fits)
	if xu {
		c.Emit(asm.Mov.Imm(asm.R0, 0))
		c.GoTo(done)
	} else {
		c.Emit(asm.Mov.Imm(asm.R1, 63))
	}
	c.Place(fits)
	op := asm.ArSh
	if xu {
		op = asm.RSh
	}
	c.Emit(asm.And.Imm(asm.R1, 63), op.Reg(asm.R0, asm.R1))
	c.Place(done)
}

// divideSigned is C's division of R0 by R1, which rounds to zero. It uses
// unsigned division: programs have signed division only from Linux 6.6 on. The
// remainder has the sign of R0.
func (a ints) divideSigned(mod bool) {
	c := a.Code
	a.failIf(asm.JEq, asm.R1, 0)
	// R2 is negative if the result is.
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0))
	if !mod {
		c.Emit(asm.Xor.Reg(asm.R2, asm.R1))
	}
	if !mod {
		// The one quotient that does not fit.
		fits := c.Label()
		c.IfImm(asm.JNE, asm.R1, -1, fits)
		c.Constant(asm.R3, math.MinInt64)
		c.IfReg(asm.JEq, asm.R0, asm.R3, a.fail)
		c.Place(fits)
	}
	c.Absolute(asm.R0)
	c.Absolute(asm.R1)
	op := asm.Div
	if mod {
		op = asm.Mod
	}
	c.Emit(op.Reg(asm.R0, asm.R1))
	done := c.Label()
	c.IfImm(asm.JSGE, asm.R2, 0, done)
	c.Emit(asm.Neg.Imm(asm.R0, 0))
	c.Place(done)
}

// failIf jumps to where the failed evaluation is counted.
func (a ints) failIf(op asm.JumpOp, dst asm.Register, v int32) {
	a.Code.IfImm(op, dst, v, a.fail)
}
