package expr

import (
	"fmt"

	"ppscript/runtime/event"
)

// This file builds Python's operators in the IR, for the Starlark front end:
// checked arithmetic, floor division, comparisons that are right for any mix of
// signs.
//
// A result is exact or an error. The result of + * | ^ with an unsigned side is
// unsigned; a negative result is then an error, although Python could represent
// it.

var pyArith = map[string]Op{
	"+": OpAddC, "-": OpSubC, "*": OpMulC, "//": OpFloorDiv, "%": OpFloorMod,
	"&": OpAndC, "|": OpOrC, "^": OpXorC, "<<": OpShlC, ">>": OpShrC,
}

var pyFloat = map[string]Op{"+": OpFAdd, "-": OpFSub, "*": OpFMul}

// PyBinary applies an operator of Python: arithmetic, comparison, "in" of two
// texts (x in y). "and" and "or" are for conditions: their result is a bool.
func PyBinary(op string, x, y Node) (Node, error) {
	switch op {
	case "and":
		return NewBinary(OpAndB, x, y)
	case "or":
		return NewBinary(OpOrB, x, y)
	case "==", "!=", "<", "<=", ">", ">=":
		return Compare(op, x, y)
	case "in":
		return NewBinary(OpContains, y, x)
	case "/":
		return NewBinary(OpFDiv, x, y)
	}
	if f, ok := pyFloat[op]; ok && (x.Type().Kind == Float || y.Type().Kind == Float) {
		return NewBinary(f, x, y)
	}
	o, ok := pyArith[op]
	if !ok {
		return nil, fmt.Errorf("unknown operator %s", op)
	}
	if !x.Type().Numeric() || !y.Type().Numeric() {
		return nil, fmt.Errorf("operator %s: got a %s and a %s, want integers", op, x.Type(), y.Type())
	}
	return NewBinary(o, x, y)
}

// PyUnary applies - ~ + or "not".
func PyUnary(op string, x Node) (Node, error) {
	switch op {
	case "not":
		b, err := NewUnary(OpTruth, x)
		if err != nil {
			return nil, err
		}
		return NewUnary(OpNotB, b)
	case "+":
		if x.Type().Kind == Int || x.Type().Kind == Float {
			return x, nil
		}
	case "-":
		if x.Type().Kind == Float {
			return NewUnary(OpFNeg, x)
		}
		if x.Type().Kind == Int {
			return NewUnary(OpNegC, x)
		}
	case "~":
		if x.Type().Kind == Int {
			return NewUnary(OpNotC, x)
		}
	}
	return nil, fmt.Errorf("operator %s: got a %s", op, x.Type())
}

// Compare compares two numbers by value, signed or not, or two texts by
// their bytes. The relation is one of == != < <= > >=.
func Compare(rel string, x, y Node) (Node, error) {
	switch rel {
	case ">":
		rel, x, y = "<", y, x
	case ">=":
		rel, x, y = "<=", y, x
	}
	a, b := x.Type(), y.Type()
	switch {
	case a.Kind == Str && b.Kind == Str:
		return NewBinary(map[string]Op{"==": OpStrEq, "!=": OpStrNe, "<": OpStrLt, "<=": OpStrLe}[rel], x, y)
	case (a.Kind == Float || b.Kind == Float) && (a.Numeric() || b.Numeric() || a.Kind == b.Kind):
		return NewBinary(map[string]Op{"==": OpFEq, "!=": OpFNe, "<": OpFLt, "<=": OpFLe}[rel], x, y)
	case !a.Numeric() || !b.Numeric():
		return nil, fmt.Errorf("cannot compare a %s with a %s", a, b)
	}
	x, y = ToInt(x), ToInt(y)
	i := map[string]int{"==": 0, "!=": 1, "<": 2, "<=": 3}[rel]
	ops := []Op{OpEq, OpNe, OpLtS, OpLeS}
	switch xs, ys := signOf(x), signOf(y); {
	case xs == ys && xs == 'u', xs == 'u' && ys == '+', xs == '+' && ys == 'u':
		ops = []Op{OpEq, OpNe, OpLtU, OpLeU}
	case xs == 's' && ys == 'u':
		ops = []Op{OpEqSU, OpNeSU, OpLtSU, OpLeSU}
	case xs == 'u' && ys == 's':
		ops = []Op{OpEqSU, OpNeSU, OpLtUS, OpLeUS}
		if i < 2 {
			x, y = y, x
		}
	}
	return NewBinary(ops[i], x, y)
}

// signOf is 's' for signed, 'u' for 64-bit unsigned, and '+' for values that
// are the same with either sign: narrow unsigned fields, constants.
func signOf(n Node) byte {
	switch n := n.(type) {
	case *Const:
		switch {
		case n.Int >= 0:
			return '+'
		case n.T.Unsigned:
			return 'u'
		}
		return 's'
	case *Field:
		if n.View == ViewValue && n.F.Kind == event.Int && !n.F.Signed && n.F.Size < 8 {
			return '+'
		}
	case *Mem:
		if !n.Signed && n.Size < 8 {
			return '+'
		}
	case *Ext:
		if n.Unsigned {
			return '+'
		}
	}
	if n.Type().Unsigned {
		return 'u'
	}
	return 's'
}
