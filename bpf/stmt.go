package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/expr"
)

// This file has the statements of functions that a script's author wrote:
// locals on the stack, if, return. There are no loops in the IR.

// A scope is where the locals of one program live, and where its innermost
// function ends.
type scope struct {
	locals int16 // of local 0; the others are above it
	n      int
	end    label // of the Func
	ret    int16 // its value
	inFunc bool
}

// enter gives n's locals their places on the stack, and returns a function
// that puts the old ones back.
func (g *gen) enter(n expr.Node) (leave func()) {
	old, mark := g.scope, g.code.stack
	g.scope = scope{n: expr.Locals(n)}
	if g.scope.n > 0 {
		g.scope.locals = g.code.alloc(8 * g.scope.n)
		// A path that the verifier cannot rule out may read before it writes.
		g.code.zero(g.scope.locals, 8*g.scope.n)
	}
	return func() { g.scope, g.code.stack = old, mark }
}

// value evaluates a whole program into R0.
func (g *gen) value(n expr.Node) {
	leave := g.enter(n)
	g.num(n)
	leave()
}

// test evaluates a whole program and jumps to l if its truth is want.
func (g *gen) test(n expr.Node, want bool, l label) {
	leave := g.enter(n)
	g.branch(n, want, l)
	leave()
}

func (g *gen) local(i int) int16 { return g.scope.locals + int16(8*i) }

// stmtValue evaluates a node of statements or functions into R0.
func (g *gen) stmtValue(n expr.Node) {
	c := g.code
	if !n.Type().Numeric() {
		refuse("%s: texts in variables have no code for the kernel", n)
	}
	switch n := n.(type) {
	case *expr.Local:
		c.load(asm.R0, g.local(n.Index))
	case *expr.Set:
		g.num(n.X)
		c.store(g.local(n.Index), asm.R0)
	case *expr.Seq:
		for _, s := range n.List[:len(n.List)-1] {
			g.stmt(s)
		}
		g.num(n.List[len(n.List)-1])
	case *expr.Func:
		old, mark := g.scope, c.stack
		g.scope.inFunc, g.scope.end, g.scope.ret = true, c.label(), c.alloc(8)
		c.zero(g.scope.ret, 8)
		g.stmt(n.Body)
		c.place(g.scope.end)
		c.load(asm.R0, g.scope.ret)
		g.scope, c.stack = old, mark
	}
}

// stmt runs n for its effect.
func (g *gen) stmt(n expr.Node) {
	c := g.code
	switch n := n.(type) {
	case nil:
	case *expr.Seq:
		for _, s := range n.List {
			g.stmt(s)
		}
	case *expr.If:
		other, end := c.label(), c.label()
		g.branch(n.Test, false, other)
		g.stmt(n.Then)
		c.goTo(end)
		c.place(other)
		if n.Else != nil {
			g.stmt(n.Else)
		}
		c.place(end)
	case *expr.Return:
		if !g.scope.inFunc {
			refuse("return outside of a function")
		}
		if n.X != nil {
			g.num(n.X)
			c.store(g.scope.ret, asm.R0)
		}
		c.goTo(g.scope.end)
	case *expr.StoreState:
		g.storeState(n)
	case *expr.Emit:
		g.emitted(n)
	case *expr.Func:
		if n.T.Kind != expr.Void {
			g.num(n)
			return
		}
		old := g.scope
		g.scope.inFunc, g.scope.end = true, c.label()
		g.stmt(n.Body)
		c.place(g.scope.end)
		g.scope = old
	default:
		if !n.Type().Numeric() {
			refuse("%s has no code for the kernel", n)
		}
		g.num(n)
	}
}
