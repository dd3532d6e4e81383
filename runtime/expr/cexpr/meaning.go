package cexpr

import (
	"errors"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// This file refuses what C allows and nobody means: a text beside a number, which compares an
// address, and an assignment as a condition. Only expressions of users are looked at: the kernel's
// print formats are right as they are.

// A meaningless error is one of those.
type meaningless struct{ error }

func (m meaningless) Unwrap() error { return m.error }

// CannotBeMeant reports an error of an expression whose names and syntax are right. The kernel may
// take it as a filter, and refuse it or keep everything.
func CannotBeMeant(err error) bool {
	_, ok := errors.AsType[meaningless](err)
	return ok
}

func (l *lowerer) meaningless(at c.Node, hint, format string, args ...any) error {
	e := l.errorf(at, format, args...).(*diag.Error)
	e.Cause, e.Hint = meaningless{e.Cause}, hint
	return e
}

// byUser reports an expression that a user wrote.
func (l *lowerer) byUser() bool { return l.tree == nil }

// isNumber reports a plain number, no address.
func (v value) isNumber() bool {
	return v.text == nil && v.array == nil && v.record == nil && v.t.Integer()
}

// mixed is the error of comparing a text or an array with a number; nil for other values, and for
// == 0 and != 0, which ask whether an address is null.
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

// conditions refuses assignments as conditions: one = where two are meant. With root, the
// expression itself is a condition.
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

// result is the part of an expression whose value is its own.
func result(n c.Node) c.Node {
	for {
		b, ok := n.(*c.Binary)
		if !ok || b.Op != "," {
			return n
		}
		n = b.Y
	}
}
