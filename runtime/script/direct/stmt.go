package direct

import (
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compiles statements.

func (c *compiler) block(list []syntax.Stmt) exec {
	var all []exec
	for _, st := range list {
		if x := c.stmt(st); x != nil {
			all = append(all, x)
		}
	}
	switch len(all) {
	case 0:
		return func(*frame) outcome { return next }
	case 1:
		return all[0]
	}
	return func(f *frame) outcome {
		for _, x := range all {
			if o := x(f); o != next {
				return o
			}
		}
		return next
	}
}

// stmt compiles a statement; nil for a statement without effect.
func (c *compiler) stmt(st syntax.Stmt) exec {
	switch st := st.(type) {
	case *syntax.ExprStmt:
		if _, ok := st.X.(*syntax.Literal); ok {
			return nil // a comment
		}
		x := c.expr(st.X)
		return func(f *frame) outcome { return outcomeOf(x(f) != nil) }
	case *syntax.AssignStmt:
		return c.assign(st)
	case *syntax.IfStmt:
		cond, a, b := c.truth(st.Cond), c.block(st.True), c.block(st.False)
		return func(f *frame) outcome {
			switch cond(f) {
			case yes:
				return a(f)
			case no:
				return b(f)
			}
			return failed
		}
	case *syntax.ForStmt:
		return c.loop(st)
	case *syntax.ReturnStmt:
		if st.Result == nil {
			return func(f *frame) outcome {
				f.result = starlark.None
				return returned
			}
		}
		x := c.expr(st.Result)
		return func(f *frame) outcome {
			if f.result = x(f); f.result == nil {
				return failed
			}
			return returned
		}
	case *syntax.BranchStmt:
		switch st.Token {
		case syntax.BREAK:
			return func(*frame) outcome { return broken }
		case syntax.CONTINUE:
			return func(*frame) outcome { return continued }
		}
		return nil
	}
	c.refuse()
	return nil
}

func outcomeOf(ok bool) outcome {
	if ok {
		return next
	}
	return failed
}

// A store assigns a value to a variable, a member or an element.
type store func(f *frame, v starlark.Value) bool

func (c *compiler) target(e syntax.Expr) store {
	switch e := script.Unparen(e).(type) {
	case *syntax.Ident:
		i, ok := slot(e)
		if !ok {
			break
		}
		return func(f *frame, v starlark.Value) bool {
			f.stack[f.base+i] = v
			return true
		}
	case *syntax.DotExpr:
		x, assign := c.expr(e.X), c.hooks.Assign(e.Name.Name)
		return func(f *frame, v starlark.Value) bool {
			a := x(f)
			return a != nil && assign(a, v)
		}
	case *syntax.TupleExpr:
		return c.targets(e.List)
	case *syntax.ListExpr:
		return c.targets(e.List)
	}
	c.refuse()
	return nil
}

// targets compiles the unpacking of a tuple. Unpacking other values is left to
// the interpreter.
func (c *compiler) targets(list []syntax.Expr) store {
	var all []store
	for _, e := range list {
		all = append(all, c.target(e))
	}
	return func(f *frame, v starlark.Value) bool {
		t, ok := v.(starlark.Tuple)
		if !ok || len(t) != len(all) {
			return false
		}
		for i, set := range all {
			if !set(f, t[i]) {
				return false
			}
		}
		return true
	}
}

func (c *compiler) assign(st *syntax.AssignStmt) exec {
	lhs := script.Unparen(st.LHS)
	x, w := c.expr(st.RHS), c.word(st.RHS)
	if st.Op != syntax.EQ {
		w = c.word(&syntax.BinaryExpr{X: st.LHS, Op: st.Op - syntax.PLUS_EQ + syntax.PLUS, Y: st.RHS})
		// The target is evaluated twice, so it must be simple. For lists and
		// dicts, which += changes in place, the operator fails here and the
		// interpreter does it.
		switch l := lhs.(type) {
		case *syntax.Ident:
		case *syntax.DotExpr:
			if _, ok := l.X.(*syntax.Ident); !ok {
				c.refuse()
				return nil
			}
		default:
			c.refuse()
			return nil
		}
		old, more, op := c.expr(lhs), x, st.Op-syntax.PLUS_EQ+syntax.PLUS
		checked := script.IsArithmetic(op)
		x = func(f *frame) starlark.Value {
			a := old(f)
			switch a.(type) {
			case nil, *starlark.List, *starlark.Dict, *starlark.Set:
				return nil
			}
			b := more(f)
			if b == nil {
				return nil
			}
			return operate(op, checked, a, b)
		}
	}
	set := c.target(lhs)
	return c.assignWord(lhs, w, func(f *frame) outcome {
		v := x(f)
		return outcomeOf(v != nil && set(f, v))
	})
}
