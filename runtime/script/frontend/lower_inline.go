package frontend

import (
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file inlines calls of functions of the script, statement by statement.

// callee is the called function, if it is a constant.
func (p *proc) callee(call *syntax.CallExpr) starlark.Value {
	id, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return nil
	}
	return p.ident(id).c
}

// procedure inlines a call whose result is not used.
func (p *proc) procedure(call *syntax.CallExpr, fn *starlark.Function) expr.Node {
	callee, pre := p.arguments(call, fn)
	inner := callee.newProc(false, false)
	inner.stepOf = true
	n, _ := inner.whole()
	return expr.NewBlock(append(pre, n)...)
}

// inlined inlines a call whose result is used, as an expression.
func (s *scopeOf) inlined(call *syntax.CallExpr, fn *starlark.Function) val {
	callee, pre := s.arguments(call, fn)
	n, v := callee.newProc(true, false).whole()
	if len(pre) > 0 {
		var err error
		n, err = expr.NewSeq(append(pre, n)...)
		s.must(call.Lparen, err)
	}
	return val{node: n, unit: v.unit}
}

// arguments binds the parameters of an inlined function. pre has assignments to
// local variables of the IR for the arguments that may fail or change.
func (s *scopeOf) arguments(call *syntax.CallExpr, fn *starlark.Function) (callee *scopeOf, pre []expr.Node) {
	if !plainArgs(call.Args) {
		s.refuse(call.Lparen, "a call with named or starred arguments")
	}
	args := make([]val, len(call.Args))
	for i, a := range call.Args {
		v := s.expr(a)
		if v.node != nil && !stable(v.node) {
			n := s.nodeOf(call.Lparen, v)
			if n.Type().Kind == expr.Tuple {
				s.refuse(call.Lparen, "a tuple is an argument")
			}
			if n.Type().Kind == expr.Str && readsState(n) {
				n = copied(n)
			}
			l := expr.NewLocal(s.newLocal(), "arg", n.Type())
			set, err := expr.NewSet(l.(*expr.Local).Index, "arg", n)
			s.must(call.Lparen, err)
			pre = append(pre, set)
			v = val{node: l, unit: v.unit}
		}
		args[i] = v
	}
	return s.enter(fn, args, call.Lparen), pre
}

func (l *lowerer) newLocal() int {
	l.locals++
	return l.locals - 1
}
