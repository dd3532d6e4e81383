package cexpr

import (
	"errors"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// This file refuses expressions that are valid in C but always a mistake: comparing a text with a
// number, which would compare an address, and an assignment as a condition. Only expressions of
// users are checked; the kernel's print formats are taken as correct.

// A meaningless error is the error for such an expression.
type meaningless struct{ error }

func (m meaningless) Unwrap() error { return m.error }

// CannotBeMeant reports whether err is such an error. The names and the syntax of the expression
// are then right, and the kernel might still accept it as a filter.
func CannotBeMeant(err error) bool {
	_, ok := errors.AsType[meaningless](err)
	return ok
}

func (l *lowerer) meaningless(at c.Node, hint, format string, args ...any) error {
	e := l.errorf(at, format, args...).(*diag.Error)
	e.Cause, e.Hint = meaningless{e.Cause}, hint
	return e
}

// withHint adds a hint to an error of errorf.
func withHint(err error, hint string) error {
	err.(*diag.Error).Hint = hint
	return err
}

// byUser reports that a user wrote the expression.
func (l *lowerer) byUser() bool { return l.tree == nil }

// isNumber reports that the value is a plain number, not an address.
func (v value) isNumber() bool {
	return v.text == nil && v.array == nil && v.record == nil && v.t.Integer()
}

// mixed returns the error for comparing a text or an array with a number; nil for other values,
// and for == 0 and != 0, which test for a null address.
func (l *lowerer) mixed(op string, xt, yt c.Node, x, y value) error {
	at := xt
	if !l.byUser() {
		return nil
	}
	if y.text != nil || y.array != nil {
		at, x, y = yt, y, x
	}
	zero, _ := y.n.(*expr.Const)
	null := zero != nil && zero.Int == 0 && (op == "==" || op == "!=")
	switch {
	case !y.isNumber() || null:
	case x.text != nil:
		return l.meaningless(at, `write a text in double quotes: comm == "bash"; its length is strlen(comm)`,
			"a text is compared with a number")
	case x.array != nil:
		return l.meaningless(at, "compare one of its elements: args[0] == 1", "an array is compared with a number")
	case x.t.Pointer() && x.n != nil && expr.IntoRecord(x.n):
		return l.meaningless(at, "read what is there: *p == 1", "an address in the event is compared with a number")
	}
	return nil
}

// conditions returns an error for an assignment used as a condition, = instead of ==.
// root says that the expression itself is a condition.
func (l *lowerer) conditions(tree c.Node, root bool) error {
	if !l.byUser() {
		return nil
	}
	var err error
	condition := func(n c.Node) {
		if a, ok := n.(*c.Assign); ok && a.Op == "" && err == nil {
			hint := "write == to compare"
			if x, ok := a.X.(*c.Ident); ok {
				hint += ": " + x.Name + " == " + a.Y.String()
			}
			err = l.meaningless(a, hint, "one = assigns, and is no condition")
		}
	}
	if root {
		condition(result(tree))
	}
	c.Walk(tree, func(n c.Node) {
		switch n := n.(type) {
		case *c.Cond:
			condition(n.Test)
		case *c.Binary:
			if n.Op == "&&" || n.Op == "||" {
				condition(n.X)
				condition(n.Y)
			}
		case *c.Unary:
			if n.Op == "!" {
				condition(n.X)
			}
		}
	})
	return err
}

// result returns the part of an expression that gives the expression its value.
func result(n c.Node) c.Node {
	for {
		b, ok := n.(*c.Binary)
		if !ok || b.Op != "," {
			return n
		}
		n = b.Y
	}
}
