package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates integers and bools. A value is left in R0; R1 to R5 are
// scratch registers, so that every part of an expression may call a helper. The
// left side of an operator waits on the stack while the right one is evaluated,
// unless that is a constant or a single load.

// Num evaluates n into R0.
func (e *Eval) Num(n expr.Node) {
	c := e.Code
	if n.Type().Kind == expr.Bool {
		e.truth(n)
		return
	}
	if n.Type().Kind != expr.Int {
		assembler.Refuse("%s is a %s", n, n.Type())
	}
	switch n := n.(type) {
	case *expr.Const:
		c.Constant(asm.R0, n.Int)
	case *expr.Field:
		e.Field(asm.R0, n)
	case *expr.Quantity:
		e.Num(n.X)
	case *expr.Unary:
		e.unary(n)
	case *expr.Binary:
		e.binary(n)
	case *expr.Ext:
		e.Num(n.X)
		e.Code.Extend(asm.R0, n.Bits, !n.Unsigned)
	case *expr.Cond:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.Num(n.Then)
		c.GoTo(end)
		c.Place(other)
		e.Num(n.Else)
		c.Place(end)
	case *expr.Local, *expr.Set, *expr.Seq, *expr.Func:
		e.stmtValue(n)
	case *expr.LoadState:
		e.loadState(n)
	case *expr.LoadElem:
		e.loadElem(n)
	case *expr.Native:
		e.native(n)
	case *expr.Mem:
		e.recordNumber(n)
	case *expr.KernelInt:
		e.kernelNumber(n)
	case *expr.TaskAddr:
		e.runningTask()
	case *expr.CPUDistance:
		e.cpuDistance(n)
	case *expr.TraceArg:
		e.traceArgument(n)
	case *expr.TextOp:
		e.findText(n)
	default:
		assembler.Refuse("%s has no code for the kernel", n)
	}
}

// truth evaluates a bool into R0 as 0 or 1.
func (e *Eval) truth(n expr.Node) {
	c := e.Code
	switch n := n.(type) {
	case *expr.Const:
		c.Constant(asm.R0, event.Bit(n.Int != 0))
		return
	case *expr.Local:
		e.stmtValue(n)
		return
	case *expr.LoadState:
		e.loadState(n)
		return
	case *expr.LoadElem:
		e.loadElem(n)
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
func (e *Eval) branch(n expr.Node, want bool, l assembler.Label) {
	c := e.Code
	switch n.Type().Kind {
	case expr.Str:
		e.textTruth(n, want, l)
		return
	case expr.Int:
		if u, ok := n.(*expr.Unary); ok && u.Op == expr.OpToInt {
			e.branch(u.X, want, l)
			return
		}
		e.Num(n)
		e.Code.IfTrue(asm.R0, want, l)
		return
	case expr.Bool:
	default:
		assembler.Refuse("%s is a %s", n, n.Type())
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
			assembler.Refuse("operator %s has no code for the kernel", n.Op)
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
		e.Code.IfTrue(asm.R0, want, l)
	case *expr.LoadState:
		e.loadState(n)
		e.Code.IfTrue(asm.R0, want, l)
	case *expr.LoadElem:
		e.loadElem(n)
		e.Code.IfTrue(asm.R0, want, l)
	case *expr.Native:
		e.native(n)
		e.Code.IfTrue(asm.R0, want, l)
	default:
		assembler.Refuse("%s has no code for the kernel", n)
	}
}

func (e *Eval) branchBinary(n *expr.Binary, want bool, l assembler.Label) {
	c := e.Code
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
		e.compareNumbers(n, want, l)
	case op >= expr.OpStrEq && op <= expr.OpGlob:
		e.compareTexts(n, want, l)
	default:
		assembler.Refuse("operator %s has no code for the kernel", n.Op)
	}
}

// leaf reports that loading n changes no other register.
func (e *Eval) leaf(n expr.Node) bool {
	switch n := n.(type) {
	case *expr.Const:
		return n.T.Numeric()
	case *expr.Field:
		return n.Type().Numeric() && n.F.Read == nil && (n.F.Of == nil || e.Hook.Raw == nil)
	}
	return false
}

// native leaves the value of a native function in R0.
func (e *Eval) native(n *expr.Native) {
	c := e.Code
	switch k := n.Kernel.(type) {
	case *expr.Dict:
		e.lookUpNumber(n, k)
	case *expr.Asking:
		e.ask(n, k)
	case expr.Swap:
		e.Num(n.Args[0])
		c.Extend(asm.R0, 8*k.Bytes, false)
		c.Emit(asm.HostTo(asm.BE, asm.R0, map[int]asm.Size{2: asm.Half, 4: asm.Word}[k.Bytes]))
	case expr.Extreme:
		e.extreme(n.Args, k.Low)
	case expr.PowerOf:
		e.Num(n.Args[0])
		none, done := c.Label(), c.Label()
		if !k.Unsigned {
			c.IfImm(asm.JSLT, asm.R0, 0, none)
		}
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
		c.Log2(asm.R0, asm.R1) // 0 of 0
		c.Emit(asm.Sub.Imm(asm.R0, 1))
		c.GoTo(done)
		c.Place(none)
		c.Emit(asm.Mov.Imm(asm.R0, -1))
		c.Place(done)
	case expr.InTarget:
		e.Num(n.Args[0])
		c.Traced(e.Hook.Target)
	default:
		refuseNative(n)
	}
}

// refuseNative refuses a native function that has no code for the kernel.
func refuseNative(n *expr.Native) {
	if n.HostOnly != "" {
		assembler.Refuse("%s() has no code for the kernel: %s", n.Name, n.HostOnly)
	}
	assembler.Refuse("%s has no code for the kernel", n)
}
