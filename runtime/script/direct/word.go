package direct

import (
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file computes with numbers without making Starlark values: numbers of events and states,
// and constants, can be compared, added and assigned this way. If an operand is not such a
// number, the other code evaluates the expression again, which is possible since nothing here
// has effects.

// A Unit is the unit of a number; NoWord says that the value is not such a
// number.
type Unit uint8

const (
	NoWord Unit = iota
	Number
	Span   // a duration
	Moment // a time
)

// A word is the eval of a number.
type word func(*frame) (n int64, u Unit)

// wordOf converts a value to a number.
func wordOf(v starlark.Value) (n int64, u Unit) {
	switch v := v.(type) {
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, Number
		}
	case value.Duration:
		return int64(v), Span
	case value.Time:
		return int64(v), Moment
	}
	return 0, NoWord
}

// word compiles an expression that may be a number; nil for other expressions, and if the
// code for values is cheaper.
func (c *compiler) word(e syntax.Expr) word {
	e = script.Unparen(e)
	if v := c.constant(e); v != nil {
		n, u := wordOf(v)
		if u == NoWord {
			return nil
		}
		return func(*frame) (int64, Unit) { return n, u }
	}
	switch e := e.(type) {
	case *syntax.Ident:
		if i, ok := slot(e); ok {
			return func(f *frame) (int64, Unit) { return wordOf(f.stack[f.base+i]) }
		}
	case *syntax.DotExpr:
		own := c.hooks.Word(e.Name.Name)
		if id, ok := script.Unparen(e.X).(*syntax.Ident); ok {
			if i, ok := slot(id); ok {
				return func(f *frame) (int64, Unit) { return own(f.stack[f.base+i]) }
			}
		}
		x := c.expr(e.X)
		return func(f *frame) (int64, Unit) { return own(x(f)) }
	case *syntax.BinaryExpr:
		return c.wordsOf(e)
	}
	return nil
}

// wordsOf compiles arithmetic of two numbers, as far as the result fits in 64 bits.
func (c *compiler) wordsOf(e *syntax.BinaryExpr) word {
	switch e.Op {
	case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.AMP, syntax.PIPE, syntax.SLASHSLASH, syntax.PERCENT:
	default:
		return nil
	}
	x, y, op := c.word(e.X), c.word(e.Y), e.Op
	if x == nil || y == nil {
		return nil
	}
	return func(f *frame) (int64, Unit) {
		a, u := x(f)
		if u == NoWord {
			return 0, NoWord
		}
		b, v := y(f)
		return compute(op, a, u, b, v)
	}
}

// compute computes like operate; the unit is NoWord if operate must be used.
func compute(op syntax.Token, a int64, u Unit, b int64, v Unit) (int64, Unit) {
	if !fits(a) || !fits(b) {
		return 0, NoWord
	}
	switch {
	case u == Number && v == Number:
		n, ok := computed(op, a, b)
		if ok {
			return n, Number
		}
	case u == Moment && v == Moment:
		if op == syntax.MINUS && a >= 0 && b >= 0 {
			return a - b, Span
		}
	case u == Span && v == Span:
		if op == syntax.PLUS {
			return a + b, Span
		}
	case op == syntax.STAR && (u == Span && v == Number || u == Number && v == Span):
		if int64(int32(a)) == a && int64(int32(b)) == b {
			return a * b, Span
		}
	}
	return 0, NoWord
}

// computed is x op y; ok is false if the result may not fit in 64 bits.
func computed(op syntax.Token, x, y int64) (n int64, ok bool) {
	switch op {
	case syntax.PLUS:
		return x + y, true
	case syntax.MINUS:
		return x - y, true
	case syntax.AMP:
		return x & y, true
	case syntax.PIPE:
		return x | y, true
	case syntax.STAR:
		if x>>31 == 0 && y>>31 == 0 {
			return x * y, true
		}
	case syntax.SLASHSLASH:
		if x >= 0 && y > 0 {
			return x / y, true
		}
	case syntax.PERCENT:
		if x >= 0 && y > 0 {
			return x % y, true
		}
	}
	return 0, false
}

// worded compiles a comparison that tries numbers first, and uses slow for
// other values.
func (c *compiler) worded(e *syntax.BinaryExpr, slow test) test {
	switch e.Op {
	case syntax.IN, syntax.NOT_IN:
		return slow
	}
	x, y, op := c.word(e.X), c.word(e.Y), e.Op
	if x == nil || y == nil {
		return slow
	}
	return func(f *frame) truth {
		if a, u := x(f); u != NoWord {
			if b, v := y(f); u != Moment && (v == u || v == Number || u == Number && v == Span) {
				return truthIf(ordered(op, a, b))
			}
		}
		return slow(f)
	}
}

// truthOfWord compiles a test for 0 that tries a number first, and uses slow
// for other values.
func (c *compiler) truthOfWord(e syntax.Expr, slow test) test {
	if _, member := script.Unparen(e).(*syntax.DotExpr); !member {
		return slow
	}
	x := c.word(e)
	return func(f *frame) truth {
		if n, u := x(f); u != NoWord {
			return truthIf(n != 0)
		}
		return slow(f)
	}
}

// assignWord compiles an assignment to a member that tries a number first, and
// uses slow for other values.
func (c *compiler) assignWord(lhs syntax.Expr, x word, slow exec) exec {
	dot, ok := lhs.(*syntax.DotExpr)
	if !ok || x == nil {
		return slow
	}
	of, assign := c.expr(dot.X), c.hooks.AssignWord(dot.Name.Name)
	return func(f *frame) outcome {
		if n, u := x(f); u != NoWord && assign(of(f), n, u) {
			return next
		}
		return slow(f)
	}
}
