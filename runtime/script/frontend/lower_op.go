package frontend

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lowers operators. Units follow the rules of Duration, Time and
// Size. Operations that these refuse are not lowered, so that the interpreter
// reports the error.

// typeOf is the type of v, as type() returns it.
func typeOf(v val) string {
	switch {
	case v.c != nil:
		return v.c.Type()
	case v.ev != nil:
		return "event"
	case v.state:
		return "fold state"
	case v.list != nil:
		return "fold state list"
	case v.unit == event.Nanos:
		return "duration"
	case v.unit == event.Moment:
		return "time"
	case v.unit == event.SizeB:
		return "size"
	}
	switch v.node.Type().Kind {
	case expr.Str:
		return "string"
	case expr.Tuple:
		return "tuple"
	}
	return v.node.Type().String()
}

// nodeOf returns the node of a value, and makes one for a constant. Integers
// are signed if they fit.
func (l *lowerer) nodeOf(at syntax.Position, v val) expr.Node {
	if v.node != nil {
		return signed(v.node)
	}
	switch c := v.c.(type) {
	case starlark.Bool:
		return expr.NewBool(bool(c))
	case starlark.String:
		return expr.NewStr(string(c))
	case value.Duration:
		return expr.NewInt(int64(c))
	case value.Time:
		return expr.NewInt(int64(c))
	case value.Size:
		return expr.NewInt(int64(c))
	case starlark.Int:
		if n, ok := c.Int64(); ok {
			return expr.NewInt(n)
		}
		if n, ok := c.Uint64(); ok {
			return expr.NewUint(n)
		}
	case starlark.Float:
		return expr.NewFloat(float64(c))
	}
	l.refuse(at, "a %s cannot be part of it", typeOf(v))
	return nil
}

// signed converts a narrow unsigned field to a signed number, so that a
// subtraction may give a negative result.
func signed(n expr.Node) expr.Node {
	f, ok := n.(*expr.Field)
	if !ok || f.View != expr.ViewValue || f.F.Kind != event.Int || f.F.Signed || f.F.Size >= 8 ||
		f.F.Place == event.InMember {
		return n
	}
	if r, err := expr.NewUnary(expr.OpSigned, n); err == nil {
		return r
	}
	return n
}

// unitOf is the unit of a node or constant.
func unitOf(v val) event.Unit {
	switch v.c.(type) {
	case value.Duration:
		return event.Nanos
	case value.Time:
		return event.Moment
	case value.Size:
		return event.SizeB
	}
	return v.unit
}

// isInt reports an integer that is not a bool; isText a text.
func isInt(v val) bool {
	if v.c != nil {
		switch v.c.(type) {
		case starlark.Int, value.Duration, value.Time, value.Size:
			return true
		}
		return false
	}
	return v.node != nil && v.node.Type().Kind == expr.Int
}

func isText(v val) bool {
	if _, ok := v.c.(starlark.String); ok {
		return true
	}
	return v.node != nil && v.node.Type().Kind == expr.Str
}

func isBool(v val) bool {
	if _, ok := v.c.(starlark.Bool); ok {
		return true
	}
	return v.node != nil && v.node.Type().Kind == expr.Bool
}

func (s *scopeOf) unary(e *syntax.UnaryExpr) val {
	if e.X == nil {
		s.refuse(e.OpPos, "a bare *")
	}
	if e.Op == syntax.NOT {
		x := s.condition(e.X)
		if x.c != nil {
			return val{c: !x.c.Truth()}
		}
		n, err := expr.PyUnary("not", x.node)
		s.must(e.OpPos, err)
		return val{node: n}
	}
	x := s.expr(e.X)
	if x.c != nil {
		c, err := starlark.Unary(e.Op, x.c)
		if err == nil && !script.IsNumber(e) {
			c, err = script.Fits(c, x.c, nil)
		}
		s.must(e.OpPos, err)
		return val{c: c}
	}
	if isFloat(x) && e.Op != syntax.TILDE {
		r, err := expr.PyUnary(e.Op.String(), x.node)
		s.must(e.OpPos, err)
		return val{node: r}
	}
	if !isInt(x) || x.unit == event.Moment || e.Op == syntax.TILDE && x.unit != event.NoUnit {
		s.refuse(e.OpPos, "%s of a %s", e.Op, typeOf(x))
	}
	n := signed(x.node)
	if n.Type().Unsigned {
		s.refuse(e.OpPos, "%s of an unsigned 64-bit number", e.Op)
	}
	r, err := expr.PyUnary(e.Op.String(), n)
	s.must(e.OpPos, err)
	return val{node: r, unit: x.unit}
}

func (s *scopeOf) binary(e *syntax.BinaryExpr) val {
	switch e.Op {
	case syntax.AND, syntax.OR:
		return s.logical(e)
	case syntax.IN, syntax.NOT_IN:
		return s.member(e)
	case syntax.PERCENT:
		if v, ok := s.percent(e); ok {
			return v
		}
	}
	return s.operate(e, s.expr(e.X), s.expr(e.Y))
}

// operate lowers x op y; e has the operator.
func (l *lowerer) operate(e *syntax.BinaryExpr, x, y val) val {
	if x.c != nil && y.c != nil {
		return l.constant(e, x.c, y.c)
	}
	if x.ev != nil || y.ev != nil || x.state || y.state {
		l.refuse(e.OpPos, "an event is used as a value")
	}
	switch e.Op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		return l.compare(e.OpPos, e.Op.String(), x, y)
	}
	return l.arith(e, x, y)
}

// constant computes an operation of constants.
func (l *lowerer) constant(e *syntax.BinaryExpr, x, y starlark.Value) val {
	switch e.Op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		b, err := script.Compare(e.Op, x, y)
		l.must(e.OpPos, err)
		return val{c: starlark.Bool(b)}
	}
	compute := starlark.Binary
	if script.IsArithmetic(e.Op) && !script.IsNumber(e) {
		compute = script.CheckedBinary // the interpreter fails here too
	}
	c, err := compute(e.Op, x, y)
	l.must(e.OpPos, err)
	return val{c: c}
}

// logical lowers "and" and "or" if the value matters. It supports bools and
// texts, since the result is one of the operands.
func (s *scopeOf) logical(e *syntax.BinaryExpr) val {
	x := s.expr(e.X)
	if x.c != nil {
		if bool(x.c.Truth()) == (e.Op == syntax.OR) {
			return x
		}
		return s.expr(e.Y)
	}
	y := s.expr(e.Y)
	if isText(x) && isText(y) {
		return s.either(e, x, y)
	}
	if !isBool(x) || !isBool(y) {
		s.refuse(e.OpPos, "the value of %s is one of its sides", e.Op)
	}
	n, err := expr.PyBinary(e.Op.String(), x.node, s.nodeOf(e.OpPos, y))
	s.must(e.OpPos, err)
	return val{node: n}
}

// either lowers "and" or "or" of texts: the result is one side, chosen by the
// truth of the first.
func (l *lowerer) either(e *syntax.BinaryExpr, x, y val) val {
	set, x := l.hold(e.OpPos, x)
	test := val{node: l.truth(e.OpPos, x)}
	r := l.choose(e.OpPos, test, x, y, false)
	if e.Op == syntax.AND {
		r = l.choose(e.OpPos, test, y, x, false)
	}
	if set != nil {
		n, err := expr.NewSeq(set, r.node)
		l.must(e.OpPos, err)
		r.node = n
	}
	return r
}

// withArticle is the name of a type with its article: an int, a string.
func withArticle(typ string) string {
	if strings.ContainsRune("aeio", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// compare lowers a comparison of values of one type. Values of different types
// are unequal, or an error that the interpreter reports.
func (l *lowerer) compare(at syntax.Position, op string, x, y val) val {
	floats := isNumber(x) && isNumber(y) && (isFloat(x) || isFloat(y))
	same := isNumber(x) && isNumber(y) && compatible(unitOf(x), unitOf(y)) || isText(x) && isText(y) ||
		isBool(x) && isBool(y) && (op == "==" || op == "!=")
	if !same {
		l.refuse(at, "%s is compared with %s", withArticle(typeOf(x)), withArticle(typeOf(y)))
	}
	return l.sequenced(at, []val{x, y}, func(v []val) val {
		if floats {
			return val{node: l.compareFloat(at, op, l.operand(at, v[0]), l.operand(at, v[1]))}
		}
		n, err := expr.Compare(op, l.operand(at, v[0]), l.operand(at, v[1]))
		l.must(at, err)
		return val{node: n}
	})
}

// compatible reports that numbers with two units can be compared: with the same unit, or a
// duration or size with a plain number, which is then in the base unit (script.Compare).
func compatible(u, v event.Unit) bool {
	measures := func(u event.Unit) bool { return u == event.Nanos || u == event.SizeB }
	return u == v || u == event.NoUnit && measures(v) || v == event.NoUnit && measures(u)
}

// operand is like nodeOf, but does not change signs: comparisons handle them
// better.
func (l *lowerer) operand(at syntax.Position, v val) expr.Node {
	if v.node != nil {
		return v.node
	}
	return l.nodeOf(at, v)
}

// member lowers x in y.
func (s *scopeOf) member(e *syntax.BinaryExpr) val {
	x, y := s.expr(e.X), s.expr(e.Y)
	negate := func(v val) val {
		if e.Op == syntax.IN {
			return v
		}
		if v.c != nil {
			return val{c: !v.c.Truth()}
		}
		n, err := expr.PyUnary("not", v.node)
		s.must(e.OpPos, err)
		return val{node: n}
	}
	switch {
	case x.c != nil && y.c != nil:
		return s.constant(e, x.c, y.c)
	case isText(x) && isText(y):
		return negate(s.sequenced(e.OpPos, []val{x, y}, func(v []val) val {
			n, err := expr.PyBinary("in", s.operand(e.OpPos, v[0]), s.operand(e.OpPos, v[1]))
			s.must(e.OpPos, err)
			return val{node: n}
		}))
	case y.c == nil || x.node == nil:
		s.refuse(e.OpPos, "in a value that is made for each event")
	}
	seq, ok := y.c.(starlark.Iterable)
	const maxMembers = 256
	if !ok || starlark.Len(y.c) > maxMembers {
		s.refuse(e.OpPos, "in a %s", y.c.Type())
	}
	set, x := s.hold(e.OpPos, x) // x is compared several times
	var any expr.Node
	for m := range starlark.Elements(seq) {
		if unitOf(x) != unitOf(val{c: m}) { // which "in" does not convert
			s.refuse(e.OpPos, "%s is looked for among values of other units", withArticle(typeOf(x)))
		}
		eq := s.compare(e.OpPos, "==", x, val{c: m}).node
		if any == nil {
			any = eq
			continue
		}
		n, err := expr.PyBinary("or", any, eq)
		s.must(e.OpPos, err)
		any = n
	}
	switch {
	case any == nil && set != nil:
		s.refuse(e.OpPos, "in an empty %s", y.c.Type())
	case any == nil:
		return negate(val{c: starlark.False})
	case set != nil:
		n, err := expr.NewSeq(set, any)
		s.must(e.OpPos, err)
		any = n
	}
	return negate(val{node: any})
}

// arith lowers arithmetic: + - * // % & | ^ << >> of integers, and operations with floating-point
// numbers.
func (l *lowerer) arith(e *syntax.BinaryExpr, x, y val) val {
	if e.Op == syntax.PLUS && isText(x) && isText(y) {
		return l.concat(e.OpPos, x, y)
	}
	if v, ok := l.floatArith(e, x, y); ok {
		return v
	}
	if !isInt(x) || !isInt(y) {
		l.refuse(e.OpPos, "%s %s %s", typeOf(x), e.Op, typeOf(y))
	}
	unit, ok := unitAfter(e.Op, unitOf(x), unitOf(y))
	if !ok {
		l.refuse(e.OpPos, "%s %s %s", typeOf(x), e.Op, typeOf(y))
	}
	a, b := l.nodeOf(e.OpPos, x), l.nodeOf(e.OpPos, y)
	if a.Type().Unsigned || b.Type().Unsigned {
		// With an unsigned side the result is unsigned, which is right only if
		// it cannot be negative.
		switch e.Op {
		case syntax.AMP, syntax.GTGT, syntax.SLASHSLASH, syntax.PERCENT:
			if !nonNegative(a) || !nonNegative(b) {
				l.refuse(e.OpPos, "%s of unsigned and signed 64-bit numbers", e.Op)
			}
		default:
			l.refuse(e.OpPos, "%s of an unsigned 64-bit number may need more than 64 bits", e.Op)
		}
	}
	n, err := expr.PyBinary(e.Op.String(), a, b)
	l.must(e.OpPos, err)
	return val{node: n, unit: unit}
}

func nonNegative(n expr.Node) bool {
	if c, ok := n.(*expr.Const); ok {
		return c.T.Unsigned || c.Int >= 0
	}
	return n.Type().Unsigned
}

// unitAfter is the unit of x op y; ok is false if the types do not allow it or
// the result is not an integer.
func unitAfter(op syntax.Token, x, y event.Unit) (event.Unit, bool) {
	const none, dur, moment = event.NoUnit, event.Nanos, event.Moment
	switch op {
	case syntax.PLUS:
		switch {
		case x == y && x != moment:
			return x, true
		case x == moment && y == dur, x == dur && y == moment:
			return moment, true
		}
	case syntax.MINUS:
		switch {
		case x == moment && y == moment:
			return dur, true
		case x == y:
			return x, true
		case x == moment && y == dur:
			return moment, true
		}
	case syntax.STAR:
		switch {
		case y == none && x != moment:
			return x, true
		case x == none && y != moment:
			return y, true
		}
	case syntax.SLASHSLASH:
		switch {
		case x == moment || y == moment:
		case y == none:
			return x, true
		case x == y:
			return none, true
		}
	case syntax.PERCENT:
		switch {
		case x == moment && y == dur:
			return dur, true
		case x == y && x != moment:
			return x, true
		}
	case syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT:
		return none, x == none && y == none
	}
	return none, false
}

// choose lowers a if test else b.
func (l *lowerer) choose(at syntax.Position, test, a, b val, truth bool) val {
	if truth {
		n, err := expr.NewCond(test.node, l.truth(at, a), l.truth(at, b))
		l.must(at, err)
		return val{node: n}
	}
	same := isInt(a) && isInt(b) && unitOf(a) == unitOf(b) || isText(a) && isText(b) ||
		isBool(a) && isBool(b) || isFloat(a) && isFloat(b)
	if !same {
		l.refuse(at, "it is a %s or a %s", typeOf(a), typeOf(b))
	}
	x, y := l.nodeOf(at, a), l.nodeOf(at, b)
	if isInt(a) && x.Type().Unsigned != y.Type().Unsigned && !(nonNegative(x) && nonNegative(y)) {
		l.refuse(at, "it is signed or unsigned")
	}
	n, err := expr.NewCond(test.node, x, y)
	l.must(at, err)
	return val{node: n, unit: unitOf(a)}
}
