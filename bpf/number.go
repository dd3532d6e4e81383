package bpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/arith"
	"ppscript/bpf/lookup"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates integers and bools. A value is left in R0; R1 to R5 are
// scratch, so that a part that needs a helper call can stand anywhere. The
// left side of an operator waits on the stack while the right one is
// evaluated, unless that is a constant or a single load.

// num evaluates n into R0.
func (e *eval) num(n expr.Node) {
	c := e.code
	if n.Type().Kind == expr.Bool {
		e.truth(n)
		return
	}
	if n.Type().Kind != expr.Int {
		refuse("%s is a %s", n, n.Type())
	}
	switch n := n.(type) {
	case *expr.Const:
		c.Constant(asm.R0, n.Int)
	case *expr.Field:
		e.field(asm.R0, n)
	case *expr.Quantity:
		e.num(n.X)
	case *expr.Unary:
		e.unary(n)
	case *expr.Binary:
		e.binary(n)
	case *expr.Ext:
		e.num(n.X)
		e.code.Extend(asm.R0, n.Bits, !n.Unsigned)
	case *expr.Cond:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.num(n.Then)
		c.GoTo(end)
		c.Place(other)
		e.num(n.Else)
		c.Place(end)
	case *expr.Local, *expr.Set, *expr.Seq, *expr.Func:
		e.stmtValue(n)
	case *expr.LoadState:
		foldState{e}.load(n)
	case *expr.LoadElem:
		foldState{e}.loadElem(n)
	case *expr.Native:
		e.native(n)
	case *expr.Mem:
		e.recordNumber(n)
	case *expr.KernelInt:
		e.reader().Number(n)
	case *expr.TaskAddr:
		e.reader().Task()
	case *expr.CPUDistance:
		e.reader().Distance(n)
	case *expr.TraceArg:
		e.reader().Argument(n)
	case *expr.TextOp:
		e.maker().Find(n)
	default:
		refuse("%s has no code for the kernel", n)
	}
}

// truth evaluates a bool into R0 as 0 or 1.
func (e *eval) truth(n expr.Node) {
	c := e.code
	switch n := n.(type) {
	case *expr.Const:
		c.Constant(asm.R0, event.Bit(n.Int != 0))
		return
	case *expr.Local:
		e.stmtValue(n)
		return
	case *expr.LoadState:
		foldState{e}.load(n)
		return
	case *expr.LoadElem:
		foldState{e}.loadElem(n)
		return
	}
	no, end := c.Label(), c.Label()
	e.branch(n, false, no)
	c.Emit(asm.Mov.Imm(asm.R0, 1))
	c.GoTo(end)
	c.Place(no)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Place(end)
}

// branch jumps to l if the truth of n is want.
func (e *eval) branch(n expr.Node, want bool, l label) {
	c := e.code
	switch n.Type().Kind {
	case expr.Str:
		e.comparer().Truth(n, want, l)
		return
	case expr.Int:
		if u, ok := n.(*expr.Unary); ok && u.Op == expr.OpToInt {
			e.branch(u.X, want, l)
			return
		}
		e.num(n)
		e.code.IfTrue(asm.R0, want, l)
		return
	case expr.Bool:
	default:
		refuse("%s is a %s", n, n.Type())
	}
	switch n := n.(type) {
	case *expr.Const:
		if (n.Int != 0) == want {
			c.GoTo(l)
		}
	case *expr.Unary:
		switch n.Op {
		case expr.OpNotB:
			e.branch(n.X, !want, l)
		case expr.OpTruth:
			e.branch(n.X, want, l)
		default:
			refuse("operator %s has no code for the kernel", n.Op)
		}
	case *expr.Binary:
		e.branchBinary(n, want, l)
	case *expr.Cond:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.branch(n.Then, want, l)
		c.GoTo(end)
		c.Place(other)
		e.branch(n.Else, want, l)
		c.Place(end)
	case *expr.Local, *expr.Set, *expr.Seq, *expr.Func:
		e.stmtValue(n)
		e.code.IfTrue(asm.R0, want, l)
	case *expr.LoadState:
		foldState{e}.load(n)
		e.code.IfTrue(asm.R0, want, l)
	case *expr.LoadElem:
		foldState{e}.loadElem(n)
		e.code.IfTrue(asm.R0, want, l)
	case *expr.Native:
		e.native(n)
		e.code.IfTrue(asm.R0, want, l)
	default:
		refuse("%s has no code for the kernel", n)
	}
}

func (e *eval) branchBinary(n *expr.Binary, want bool, l label) {
	c := e.code
	switch op := n.Op; {
	case op == expr.OpAndB && !want, op == expr.OpOrB && want:
		e.branch(n.X, want, l)
		e.branch(n.Y, want, l)
	case op == expr.OpAndB, op == expr.OpOrB:
		end := c.Label()
		e.branch(n.X, !want, end)
		e.branch(n.Y, want, l)
		c.Place(end)
	case op >= expr.OpEq && op <= expr.OpLeUS:
		e.compare(n, want, l)
	case op >= expr.OpStrEq && op <= expr.OpGlob:
		e.comparer().Compare(n, want, l)
	default:
		refuse("operator %s has no code for the kernel", n.Op)
	}
}

// comparisons, and their negations.
var comparisons = map[expr.Op][2]asm.JumpOp{
	expr.OpEq: {asm.JEq, asm.JNE}, expr.OpNe: {asm.JNE, asm.JEq},
	expr.OpLtS: {asm.JSLT, asm.JSGE}, expr.OpLeS: {asm.JSLE, asm.JSGT},
	expr.OpLtU: {asm.JLT, asm.JGE}, expr.OpLeU: {asm.JLE, asm.JGT},
}

// mixed are the comparisons of a signed with an unsigned number: the result
// if the signed one, left or right, is negative, and the comparison else.
var mixed = map[expr.Op]struct {
	right    bool
	negative bool
	op       expr.Op
}{
	expr.OpEqSU: {false, false, expr.OpEq}, expr.OpNeSU: {false, true, expr.OpNe},
	expr.OpLtSU: {false, true, expr.OpLtU}, expr.OpLeSU: {false, true, expr.OpLeU},
	expr.OpLtUS: {true, false, expr.OpLtU}, expr.OpLeUS: {true, false, expr.OpLeU},
}

func (e *eval) compare(n *expr.Binary, want bool, l label) {
	c := e.code
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
		e.num(n.X)
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
func (e *eval) both(x, y expr.Node) {
	c := e.code
	if e.leaf(y) {
		e.num(x)
		if k, ok := y.(*expr.Const); ok {
			c.Constant(asm.R1, k.Int)
		} else {
			e.field(asm.R1, y.(*expr.Field))
		}
		return
	}
	mark := c.Stack
	e.num(x)
	t := c.Alloc(8)
	c.Store(t, asm.R0)
	e.num(y)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	c.Load(asm.R0, t)
	c.Stack = mark
}

// leaf reports that n is loaded by instructions that leave the other
// registers alone.
func (e *eval) leaf(n expr.Node) bool {
	switch n := n.(type) {
	case *expr.Const:
		return n.T.Numeric()
	case *expr.Field:
		return n.Type().Numeric() && n.F.Read == nil && (n.F.Of == nil || e.hook.Raw == nil)
	}
	return false
}

func (e *eval) unary(n *expr.Unary) {
	c := e.code
	switch n.Op {
	case expr.OpToInt:
		e.truth(n.X)
		return
	case expr.OpStrLen:
		e.comparer().Len(n.X)
		return
	case expr.OpTrunc:
		refuse("floating point has no code for the kernel")
	}
	e.num(n.X)
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
		c.IfReg(op, asm.R0, asm.R1, e.fail)
		c.Emit(asm.Neg.Imm(asm.R0, 0))
	case expr.OpNotC:
		if unsigned {
			c.IfImm(asm.JSLT, asm.R0, 0, e.fail)
		}
		c.Emit(asm.Xor.Imm(asm.R0, -1))
	case expr.OpSigned, expr.OpUnsigned:
		c.IfImm(asm.JSLT, asm.R0, 0, e.fail)
	default:
		refuse("operator %s has no code for the kernel", n.Op)
	}
}

var plainOps = map[expr.Op]asm.ALUOp{
	expr.OpAdd: asm.Add, expr.OpSub: asm.Sub, expr.OpMul: asm.Mul,
	expr.OpAnd: asm.And, expr.OpOr: asm.Or, expr.OpXor: asm.Xor,
	expr.OpShl: asm.LSh, expr.OpShrS: asm.ArSh, expr.OpShrU: asm.RSh,
}

func (e *eval) binary(n *expr.Binary) {
	c := e.code
	if n.Op >= expr.OpAddC && n.Op <= expr.OpShrC {
		e.both(n.X, n.Y)
		if !(arith.Ints{Code: c, Fail: e.fail}).Checked(n) {
			refuse("operator %s has no code for the kernel", n.Op)
		}
		return
	}
	shift := n.Op == expr.OpShl || n.Op == expr.OpShrS || n.Op == expr.OpShrU
	if op, ok := plainOps[n.Op]; ok {
		if k, ok := n.Y.(*expr.Const); ok && k.Int == int64(int32(k.Int)) {
			e.num(n.X)
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
		c.IfImm(asm.JEq, asm.R1, 0, e.fail)
		op := asm.Div
		if n.Op == expr.OpModU {
			op = asm.Mod
		}
		c.Emit(op.Reg(asm.R0, asm.R1))
	case expr.OpDivS, expr.OpModS:
		e.both(n.X, n.Y)
		arith.Ints{Code: c, Fail: e.fail}.DivideSigned(n.Op == expr.OpModS)
	default:
		refuse("operator %s has no code for the kernel", n.Op)
	}
}

// native is the natives that are simple enough.
func (e *eval) native(n *expr.Native) {
	c := e.code
	if d := lookup.Of(n); d != nil {
		e.finder().Number(n, d)
		return
	}
	if size := n.SwappedSize(); size > 0 {
		e.num(n.Args[0])
		e.code.Extend(asm.R0, 8*size, false)
		c.Emit(asm.HostTo(asm.BE, asm.R0, map[int]asm.Size{2: asm.Half, 4: asm.Word}[size]))
		return
	}
	if low, ok := n.Extreme(); ok {
		e.extreme(n.Args, low)
		return
	}
	if n.Is(expr.AsksThreads) {
		e.num(n.Args[0])
		c.Traced(e.hook.Target)
		return
	}
	refuse("%s() has no code for the kernel", n.Name)
}

// extreme is the least, or the greatest, of numbers.
func (e *eval) extreme(args []expr.Node, low bool) {
	c := e.code
	mark := c.Stack
	best := c.Alloc(8)
	op := asm.JSLE
	if low {
		op = asm.JSGE
	}
	for i, a := range args {
		e.num(a)
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
