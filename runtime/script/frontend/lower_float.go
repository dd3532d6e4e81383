package frontend

import (
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lowers true division and other computations with floating-point numbers. An integer
// operand becomes the nearest double, as in Starlark; comparisons are exact for all types.

// isFloat reports a floating-point number; isNumber any number except a bool.
func isFloat(v val) bool {
	if _, ok := v.c.(starlark.Float); ok {
		return true
	}
	return v.node != nil && v.node.Type().Kind == expr.Float
}

func isNumber(v val) bool { return isInt(v) || isFloat(v) }

// floatArith lowers x op y unless it is arithmetic of integers; ok is false then, and if it
// fails.
func (l *lowerer) floatArith(e *syntax.BinaryExpr, x, y val) (v val, ok bool) {
	floats := isFloat(x) || isFloat(y)
	if !isNumber(x) || !isNumber(y) || !floats && e.Op != syntax.SLASH {
		return v, false
	}
	u, w := unitOf(x), unitOf(y)
	measures := func(u event.Unit) bool { return u == event.Nanos || u == event.SizeB }
	switch {
	case u == event.NoUnit && w == event.NoUnit, e.Op == syntax.SLASH && u == w && measures(u):
		return l.floatOf(e, x, y)
	case measures(u) && w == event.NoUnit && (e.Op == syntax.SLASH || e.Op == syntax.STAR):
		return l.scaled(e, x, y, u), true
	case measures(w) && u == event.NoUnit && e.Op == syntax.STAR:
		return l.scaled(e, y, x, w), true
	}
	return v, false
}

// floatOf lowers x op y of doubles.
func (l *lowerer) floatOf(e *syntax.BinaryExpr, x, y val) (v val, ok bool) {
	a, b := l.double(e.OpPos, x), l.double(e.OpPos, y)
	var err error
	switch e.Op {
	case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH:
		v.node, err = expr.PyBinary(e.Op.String(), a, b)
	case syntax.SLASHSLASH:
		v.node, err = divided(e.Op, a, b, func(x, y float64) float64 { return math.Floor(x / y) })
	case syntax.PERCENT:
		v.node, err = divided(e.Op, a, b, func(x, y float64) float64 {
			return float64(starlark.Float(x).Mod(starlark.Float(y)))
		})
	default:
		return v, false
	}
	l.must(e.OpPos, err)
	return v, true
}

// double converts a number to a node of a double.
func (l *lowerer) double(at syntax.Position, v val) expr.Node {
	n := l.nodeOf(at, v)
	if n.Type().Kind != expr.Float {
		var err error
		n, err = expr.NewUnary(expr.OpToFloat, n)
		l.must(at, err)
	}
	return n
}

// floatsHere is the reason why programs of the kernel cannot compute with
// doubles.
const floatsHere = "programs of the kernel have no floating-point numbers"

// divided lowers a division of doubles, which fails if the divisor is 0.
func divided(op syntax.Token, x, y expr.Node, fn func(x, y float64) float64) (expr.Node, error) {
	return expr.NewNative(expr.Native{Name: op.String(), T: expr.TFloat, Args: []expr.Node{x, y},
		HostOnly: floatsHere,
		Float: func(f *expr.Frame, a []expr.Arg) float64 {
			y := math.Float64frombits(uint64(a[1].I))
			if y == 0 {
				f.Fail(expr.ErrDivide)
				return 0
			}
			return fn(math.Float64frombits(uint64(a[0].I)), y)
		}})
}

// scaled lowers a duration or size x multiplied by a double, or divided by a number; the result is
// rounded.
func (l *lowerer) scaled(e *syntax.BinaryExpr, x, y val, unit event.Unit) val {
	a, b := l.nodeOf(e.OpPos, x), l.nodeOf(e.OpPos, y)
	if a.Type().Unsigned || b.Type().Unsigned {
		l.refuse(e.OpPos, "%s of an unsigned 64-bit number", e.Op)
	}
	whole, divides := b.Type().Kind == expr.Int, e.Op == syntax.SLASH
	n, err := expr.NewNative(expr.Native{Name: e.Op.String(), T: expr.TInt, Args: []expr.Node{a, b},
		HostOnly: floatsHere,
		Int: func(f *expr.Frame, args []expr.Arg) int64 {
			var r int64
			var err error
			switch x, y := float64(args[0].I), math.Float64frombits(uint64(args[1].I)); {
			case whole:
				r, err = value.DivideInt(args[0].I, args[1].I)
			case divides:
				r, err = value.DivideFloat(args[0].I, y)
			default:
				r, err = value.RoundFloat(x * y)
			}
			if err != nil {
				f.Fail(err)
			}
			return r
		}})
	l.must(e.OpPos, err)
	return val{node: n, unit: unit}
}

// compareFloat lowers a comparison of numbers of which at least one is a
// double.
func (l *lowerer) compareFloat(at syntax.Position, op string, x, y expr.Node) expr.Node {
	// A double and a constant: the comparison of doubles is right except for NaN, which Starlark
	// orders above all numbers. So x > c is lowered as not x <= c.
	mirror := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
	if exactDouble(x) && y.Type().Kind == expr.Float {
		x, y = y, x
		if m := mirror[op]; m != "" {
			op = m
		}
	}
	if exactDouble(y) && x.Type().Kind == expr.Float {
		opposite := map[string]string{">": "<=", ">=": "<"}[op]
		rel := op
		if opposite != "" {
			rel = opposite
		}
		n, err := expr.Compare(rel, x, y)
		if err == nil && opposite != "" {
			n, err = expr.PyUnary("not", n)
		}
		l.must(at, err)
		return n
	}
	a, b := x.Type().ValueKind(), y.Type().ValueKind()
	token := map[string]func(c int) bool{
		"==": func(c int) bool { return c == 0 }, "!=": func(c int) bool { return c != 0 },
		"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
		">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	}[op]
	n, err := expr.NewNative(expr.Native{Name: op, T: expr.TBool, Args: []expr.Node{x, y},
		HostOnly: floatsHere,
		Int: func(_ *expr.Frame, args []expr.Arg) int64 {
			x, y := event.NumberOf(a, args[0].I), event.NumberOf(b, args[1].I)
			c := x.Compare(y)
			if x.NaN() || y.NaN() {
				c = -c // Starlark orders NaN above all numbers
			}
			return event.Bit(token(c))
		}})
	l.must(at, err)
	return n
}

// exactDouble reports that a constant is a number that a double can represent
// exactly.
func exactDouble(n expr.Node) bool {
	c, ok := n.(*expr.Const)
	switch {
	case !ok:
		return false
	case c.T.Kind == expr.Float:
		return c.Float == c.Float
	}
	const most = 1 << 53
	return c.T.Kind == expr.Int && c.Int >= -most && c.Int <= most
}
