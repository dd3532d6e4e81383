package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file generates the statements of a script's functions: local variables,
// if, return. The IR has no loops.

// scope holds the places of one program's local variables, and the end of its
// innermost function.
type scope struct {
	locals int16 // of local 0; the others are above it
	n      int
	end    assembler.Label // of the Func
	ret    int16           // its value
	inFunc bool
	emit   func(n *expr.Emit) // generates the use of an emitted event; nil outside of a fold
}

func (e *Eval) local(i int) int16 { return e.scope.locals + int16(8*i) }

// stmtValue evaluates a node of statements or functions into R0.
func (e *Eval) stmtValue(n expr.Node) {
	c := e.Code
	if !n.Type().Numeric() {
		assembler.Refuse("%s: texts in variables have no code for the kernel", n)
	}
	switch n := n.(type) {
	case *expr.Local:
		c.Load(asm.R0, e.local(n.Index))
	case *expr.Set:
		e.Num(n.X)
		c.Store(e.local(n.Index), asm.R0)
	case *expr.Seq:
		for _, s := range n.List[:len(n.List)-1] {
			e.stmt(s)
		}
		e.Num(n.List[len(n.List)-1])
	case *expr.Func:
		old, mark := e.scope, c.Stack
		e.scope.inFunc, e.scope.end, e.scope.ret = true, c.Label(), c.Alloc(8)
		c.Zero(e.scope.ret, 8)
		e.stmt(n.Body)
		c.Place(e.scope.end)
		c.Load(asm.R0, e.scope.ret)
		e.scope, c.Stack = old, mark
	}
}

// stmt runs n for its effect.
func (e *Eval) stmt(n expr.Node) {
	c := e.Code
	switch n := n.(type) {
	case nil:
	case *expr.Seq:
		for _, s := range n.List {
			e.stmt(s)
		}
	case *expr.If:
		other, end := c.Label(), c.Label()
		e.branch(n.Test, false, other)
		e.stmt(n.Then)
		c.GoTo(end)
		c.Place(other)
		if n.Else != nil {
			e.stmt(n.Else)
		}
		c.Place(end)
	case *expr.Return:
		if !e.scope.inFunc {
			assembler.Refuse("return outside of a function")
		}
		if n.X != nil {
			e.Num(n.X)
			c.Store(e.scope.ret, asm.R0)
		}
		c.GoTo(e.scope.end)
	case *expr.StoreState:
		e.storeState(n)
	case *expr.StoreElem:
		e.storeElem(n)
	case *expr.Emit:
		if e.scope.emit == nil {
			assembler.Refuse("emit outside of the functions of a fold")
		}
		e.scope.emit(n)
	case *expr.Func:
		if n.T.Kind != expr.Void {
			e.Num(n)
			return
		}
		old := e.scope
		e.scope.inFunc, e.scope.end = true, c.Label()
		e.stmt(n.Body)
		c.Place(e.scope.end)
		e.scope = old
	default:
		if !n.Type().Numeric() {
			assembler.Refuse("%s has no code for the kernel", n)
		}
		e.Num(n)
	}
}
