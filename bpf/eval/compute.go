package eval

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file generates the operators of numbers, their comparisons, and the least or greatest of
// several numbers. The operators that fail where a result does not fit are in arith.go.

// comparisons, and their negations.
var comparisons = map[expr.Op][2]asm.JumpOp{
	expr.OpEq: {asm.JEq, asm.JNE}, expr.OpNe: {asm.JNE, asm.JEq},
	expr.OpLtS: {asm.JSLT, asm.JSGE}, expr.OpLeS: {asm.JSLE, asm.JSGT},
	expr.OpLtU: {asm.JLT, asm.JGE}, expr.OpLeU: {asm.JLE, asm.JGT},
}

// mixed has the comparisons of a signed with an unsigned number. right says that the signed
// number is on the right. If it is negative, the result is negative; else op compares both as
// unsigned numbers.
var mixed = map[expr.Op]struct {
	right    bool
	negative bool
	op       expr.Op
}{
	expr.OpEqSU: {false, false, expr.OpEq}, expr.OpNeSU: {false, true, expr.OpNe},
	expr.OpLtSU: {false, true, expr.OpLtU}, expr.OpLeSU: {false, true, expr.OpLeU},
	expr.OpLtUS: {true, false, expr.OpLtU}, expr.OpLeUS: {true, false, expr.OpLeU},
}

// compareNumbers jumps to l if the truth of a comparison of numbers is want.
func (e *Eval) compareNumbers(n *expr.Binary, want bool, l assembler.Label) {
	c := e.Code
	op := n.Op
	end := c.Label()
	if m, ok := mixed[op]; ok {
		e.both(n.X, n.Y)
		signed := asm.R0
		if m.right {
			signed = asm.R1
		}
		if m.negative == want {
			c.IfImm(asm.JSLT, signed, 0, l)
		} else {
			c.IfImm(asm.JSLT, signed, 0, end)
		}
		c.IfReg(jumpOf(m.op, want), asm.R0, asm.R1, l)
		c.Place(end)
		return
	}
	if k, ok := n.Y.(*expr.Const); ok && k.Int == int64(int32(k.Int)) {
		e.Num(n.X)
		c.IfImm(jumpOf(op, want), asm.R0, int32(k.Int), l)
		return
	}
	e.both(n.X, n.Y)
	c.IfReg(jumpOf(op, want), asm.R0, asm.R1, l)
}

func jumpOf(op expr.Op, want bool) asm.JumpOp {
	if want {
		return comparisons[op][0]
	}
	return comparisons[op][1]
}

// both evaluates x into R0 and y into R1.
func (e *Eval) both(x, y expr.Node) {
	c := e.Code
	if e.leaf(y) {
		e.Num(x)
		if k, ok := y.(*expr.Const); ok {
			c.Constant(asm.R1, k.Int)
		} else {
			e.Field(asm.R1, y.(*expr.Field))
		}
		return
	}
	mark := c.Stack
	e.Num(x)
	t := c.Alloc(8)
	c.Store(t, asm.R0)
	e.Num(y)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	c.Load(asm.R0, t)
	c.Stack = mark
}

// unary leaves the value of an operator of one number in R0.
func (e *Eval) unary(n *expr.Unary) {
	c := e.Code
	switch n.Op {
	case expr.OpToInt:
		e.truth(n.X)
		return
	case expr.OpStrLen:
		e.textLength(n.X)
		return
	case expr.OpTrunc:
		assembler.Refuse("floating point has no code for the kernel")
	}
	e.Num(n.X)
	unsigned := n.X.Type().Unsigned
	switch n.Op {
	case expr.OpNeg:
		c.Emit(asm.Neg.Imm(asm.R0, 0))
	case expr.OpNot:
		c.Emit(asm.Xor.Imm(asm.R0, -1))
	case expr.OpNegC:
		c.Constant(asm.R1, math.MinInt64)
		op := asm.JEq
		if unsigned {
			op = asm.JGT
		}
		c.IfReg(op, asm.R0, asm.R1, e.Fail)
		c.Emit(asm.Neg.Imm(asm.R0, 0))
	case expr.OpNotC:
		if unsigned {
			c.IfImm(asm.JSLT, asm.R0, 0, e.Fail)
		}
		c.Emit(asm.Xor.Imm(asm.R0, -1))
	case expr.OpSigned, expr.OpUnsigned:
		c.IfImm(asm.JSLT, asm.R0, 0, e.Fail)
	default:
		assembler.Refuse("operator %s has no code for the kernel", n.Op)
	}
}

var plainOps = map[expr.Op]asm.ALUOp{
	expr.OpAdd: asm.Add, expr.OpSub: asm.Sub, expr.OpMul: asm.Mul,
	expr.OpAnd: asm.And, expr.OpOr: asm.Or, expr.OpXor: asm.Xor,
	expr.OpShl: asm.LSh, expr.OpShrS: asm.ArSh, expr.OpShrU: asm.RSh,
}

// binary leaves the value of an operator of two numbers in R0.
func (e *Eval) binary(n *expr.Binary) {
	c := e.Code
	if n.Op >= expr.OpAddC && n.Op <= expr.OpShrC {
		e.both(n.X, n.Y)
		if !(ints{Code: c, fail: e.Fail}).checked(n) {
			assembler.Refuse("operator %s has no code for the kernel", n.Op)
		}
		return
	}
	shift := n.Op == expr.OpShl || n.Op == expr.OpShrS || n.Op == expr.OpShrU
	if op, ok := plainOps[n.Op]; ok {
		if k, ok := n.Y.(*expr.Const); ok && k.Int == int64(int32(k.Int)) {
			e.Num(n.X)
			v := int32(k.Int)
			if shift {
				v &= 63
			}
			c.Emit(op.Imm(asm.R0, v))
			return
		}
		e.both(n.X, n.Y)
		if shift {
			c.Emit(asm.And.Imm(asm.R1, 63))
		}
		c.Emit(op.Reg(asm.R0, asm.R1))
		return
	}
	switch n.Op {
	case expr.OpDivU, expr.OpModU:
		e.both(n.X, n.Y)
		c.IfImm(asm.JEq, asm.R1, 0, e.Fail)
		op := asm.Div
		if n.Op == expr.OpModU {
			op = asm.Mod
		}
		c.Emit(op.Reg(asm.R0, asm.R1))
	case expr.OpDivS, expr.OpModS:
		e.both(n.X, n.Y)
		ints{Code: c, fail: e.Fail}.divideSigned(n.Op == expr.OpModS)
	default:
		assembler.Refuse("operator %s has no code for the kernel", n.Op)
	}
}

// extreme leaves the least or the greatest of numbers in R0.
func (e *Eval) extreme(args []expr.Node, low bool) {
	c := e.Code
	mark := c.Stack
	best := c.Alloc(8)
	op := asm.JSLE
	if low {
		op = asm.JSGE
	}
	for i, a := range args {
		e.Num(a)
		keep := c.Label()
		if i > 0 {
			c.Load(asm.R1, best)
			c.IfReg(op, asm.R0, asm.R1, keep)
		}
		c.Store(best, asm.R0)
		c.Place(keep)
	}
	c.Load(asm.R0, best)
	c.Stack = mark
}
