package cexpr

import (
	"cmp"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// This file lowers ?: and GNU's ?: without a middle.

func (l *lowerer) cond(n *c.Cond) (value, error) {
	tv, err := l.expr(n.Test)
	if err != nil {
		return tv, err
	}
	if n.Then == nil {
		return l.elvis(n, tv)
	}
	test, err := l.truth(n.Test, tv)
	if err != nil {
		return tv, err
	}
	then, err := l.expr(n.Then)
	if err != nil {
		return then, err
	}
	other, err := l.expr(n.Else)
	if err != nil {
		return other, err
	}
	return l.choose(n.Then, n.Else, test, then, other)
}

// elvis lowers GNU's a ?: b, where a is evaluated once.
func (l *lowerer) elvis(n *c.Cond, a value) (value, error) {
	if a.text != nil {
		return a, nil // a is never null
	}
	x, err := l.num(n.Test, a)
	if err != nil {
		return a, err
	}
	other, err := l.expr(n.Else)
	if err != nil {
		return other, err
	}
	keep := l.newLocal(decay(a.t), false)
	set, err := expr.NewSet(keep.index, "a", expr.Retype(x, keep.t.Unsigned))
	if err != nil {
		return a, err
	}
	again := keep.value("a")
	test, err := expr.NewUnary(expr.OpTruth, again.n)
	if err != nil {
		return a, err
	}
	r, err := l.choose(n.Test, n.Else, test, again, other)
	if err != nil {
		return r, err
	}
	return l.after([]expr.Node{set}, n, r)
}

// choose lowers test ? then : other.
func (l *lowerer) choose(thenAt, otherAt c.Node, test expr.Node, then, other value) (value, error) {
	if then.text != nil || other.text != nil {
		a, err := l.strOrNull(thenAt, then)
		if err != nil {
			return then, err
		}
		b, err := l.strOrNull(otherAt, other)
		if err != nil {
			return other, err
		}
		r, err := expr.NewCond(test, a, b)
		return textual(r), err
	}
	a, err := l.num(thenAt, then)
	if err != nil {
		return then, err
	}
	b, err := l.num(otherAt, other)
	if err != nil {
		return other, err
	}
	if then.real != nil || other.real != nil {
		r, err := expr.NewCond(test, cmp.Or(then.real, a), cmp.Or(other.real, b))
		return realNumber(r, err)
	}
	t := then.t
	switch {
	case t.Pointer():
		t = decay(t)
	case other.t.Pointer():
		t = decay(other.t)
	default:
		t = common(then.t, other.t)
		if a, err = convert(a, then.t, t); err != nil {
			return then, err
		}
		if b, err = convert(b, other.t, t); err != nil {
			return then, err
		}
	}
	r, err := expr.NewCond(test, expr.Retype(a, t.Unsigned), expr.Retype(b, t.Unsigned))
	return number(t, r), err
}

// strOrNull returns the value as a text; NULL becomes the text that printf
// prints.
func (l *lowerer) strOrNull(at c.Node, v value) (expr.Node, error) {
	if k, ok := v.n.(*expr.Const); ok && k.Int == 0 && v.text == nil {
		return expr.NewStr("(null)"), nil
	}
	return l.str(at, v)
}
