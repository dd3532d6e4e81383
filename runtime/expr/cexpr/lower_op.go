package cexpr

import (
	"cmp"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// This file lowers C's arithmetic: promotions, conversions, operators.

// promote is C's integer promotion: a type narrower than int becomes int.
// Values are always extended to 64 bits, so the node does not change.
func promote(t *c.Type) *c.Type {
	if t.Size < 4 {
		return c.TInt
	}
	return t
}

// common is the result type of C's usual arithmetic conversions.
func common(a, b *c.Type) *c.Type {
	a, b = promote(a), promote(b)
	switch {
	case a.Size > b.Size:
		return a
	case b.Size > a.Size:
		return b
	case b.Unsigned:
		return b
	}
	return a
}

// convert converts a number from one type to another. It makes a node only if
// bits may be lost.
func convert(n expr.Node, from, to *c.Type) (expr.Node, error) {
	if to.Kind == c.Bool {
		b, err := expr.NewUnary(expr.OpTruth, n)
		if err != nil {
			return nil, err
		}
		return expr.ToInt(b), nil
	}
	n = expr.ToInt(n)
	fits := to.Size >= 8 || to.Size > from.Size && from.Unsigned ||
		to.Size >= from.Size && from.Unsigned == to.Unsigned
	if k, ok := n.(*expr.Const); ok {
		x, err := expr.NewExt(k, to.Size*8, to.Unsigned)
		if err != nil {
			return nil, err
		}
		return expr.Retype(x, to.Unsigned), nil
	}
	if fits {
		return n, nil
	}
	return expr.NewExt(n, to.Size*8, to.Unsigned)
}

// integer checks that a value is an integer.
func (l *lowerer) integer(at c.Node, v value) (expr.Node, error) {
	n, err := l.num(at, v)
	if err == nil && !v.t.Integer() {
		err = l.errorf(at, "this is a %s, want an integer", v.t)
	}
	return n, err
}

func (l *lowerer) unary(n *c.Unary) (value, error) {
	switch n.Op {
	case "++", "--":
		return writer{l}.increment(n, n.X, n.Op, false)
	case "&":
		return l.address(n)
	}
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	switch n.Op {
	case "*":
		return l.deref(n.X, x)
	case "!":
		b, err := l.truth(n.X, x)
		if err != nil {
			return x, err
		}
		b, err = expr.NewUnary(expr.OpNotB, b)
		return number(c.TInt, b), err
	}
	if x.real != nil && n.Op == "-" {
		r, err := expr.NewUnary(expr.OpFNeg, x.real)
		return realNumber(r, err)
	}
	num, err := l.integer(n.X, x)
	if err != nil {
		return x, err
	}
	if x.real != nil && n.Op == "~" {
		return x, l.errorf(n.X, "got a number with a fraction, want an integer; write (long)(...)")
	}
	if x.real != nil {
		return x, nil
	}
	t := promote(x.t)
	switch n.Op {
	case "-":
		num, err = expr.NewUnary(expr.OpNeg, num)
	case "~":
		num, err = expr.NewUnary(expr.OpNot, num)
	}
	if err == nil && t.Size == 4 && (n.Op == "-" || n.Op == "~" && t.Unsigned) {
		num, err = expr.NewExt(num, 32, t.Unsigned)
	}
	return number(t, num), err
}

func (l *lowerer) binary(n *c.Binary) (value, error) {
	// The recursion is as deep as the tree, whose depth the parser bounds.
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	y, err := l.expr(n.Y)
	if err != nil {
		return y, err
	}
	return l.apply(n, n.Op, n.X, n.Y, x, y)
}

// apply lowers x OP y; at is the whole expression, for errors.
func (l *lowerer) apply(at c.Node, op string, xt, yt c.Node, x, y value) (value, error) {
	switch op {
	case ",":
		first, err := l.root(x)
		if err != nil {
			return x, l.errorf(xt, "%v", err)
		}
		return l.after([]expr.Node{first}, yt, y)
	case "&&", "||":
		return l.logical(op, xt, yt, x, y)
	case "~":
		return l.texts(expr.OpGlob, xt, yt, x, y)
	case "==", "!=":
		if x.isText() && y.isText() {
			o := expr.OpStrEq
			if op == "!=" {
				o = expr.OpStrNe
			}
			return l.texts(o, xt, yt, x, y)
		}
	case "<", "<=", ">", ">=":
		if x.text != nil && y.text != nil {
			r, err := expr.Compare(op, x.text, y.text)
			return number(c.TInt, r), err
		}
	}
	if _, ok := relations[op]; ok {
		if err := l.mixed(op, xt, yt, x, y); err != nil {
			return x, err
		}
	}
	a, err := l.num(xt, x)
	if err != nil {
		return x, err
	}
	b, err := l.num(yt, y)
	if err != nil {
		return y, err
	}
	if x.real != nil || y.real != nil {
		return l.reals(at, op, cmp.Or(x.real, a), cmp.Or(y.real, b))
	}
	if rel, ok := relations[op]; ok {
		return l.compare(rel, a, b, x, y)
	}
	if x.t.Pointer() || y.t.Pointer() {
		return l.pointerOp(at, op, xt, yt, a, b, x, y)
	}
	if op == "<<" || op == ">>" {
		t := promote(x.t)
		if k, ok := b.(*expr.Const); ok && t.Size == 4 && uint64(k.Int) >= 32 {
			t = c.Basic(8, t.Unsigned)
		}
		r, err := shift(op, a, b, t)
		return number(t, r), err
	}
	t := common(x.t, y.t)
	if a, err = convert(a, x.t, t); err != nil {
		return x, err
	}
	if b, err = convert(b, y.t, t); err != nil {
		return x, err
	}
	r, err := arith(op, a, b, t)
	return number(t, r), err
}

// reals lowers a OP b if one of them is a double.
func (l *lowerer) reals(at c.Node, op string, a, b expr.Node) (value, error) {
	arith := map[string]expr.Op{"+": expr.OpFAdd, "-": expr.OpFSub, "*": expr.OpFMul, "/": expr.OpFDiv}
	if o, ok := arith[op]; ok {
		r, err := expr.NewBinary(o, a, b)
		return realNumber(r, err)
	}
	if _, ok := relations[op]; ok {
		r, err := expr.Compare(op, a, b)
		return number(c.TInt, r), err
	}
	return value{}, l.errorf(at, "%s: got a number with a fraction, want integers; write (long)(...)", op)
}

// realNumber returns a double as a value.
func realNumber(n expr.Node, err error) (value, error) {
	if err != nil {
		return value{}, err
	}
	whole, err := expr.NewUnary(expr.OpTrunc, n)
	return value{t: c.TLong, n: whole, real: n}, err
}

func arith(op string, a, b expr.Node, t *c.Type) (expr.Node, error) {
	o := map[string]expr.Op{
		"+": expr.OpAdd, "-": expr.OpSub, "*": expr.OpMul, "/": expr.OpDivS, "%": expr.OpModS,
		"&": expr.OpAnd, "|": expr.OpOr, "^": expr.OpXor,
	}[op]
	if t.Unsigned && o == expr.OpDivS {
		o = expr.OpDivU
	} else if t.Unsigned && o == expr.OpModS {
		o = expr.OpModU
	}
	r, err := expr.NewBinary(o, a, b)
	if err != nil {
		return nil, err
	}
	if t.Size == 4 && (o == expr.OpAdd || o == expr.OpSub || o == expr.OpMul || o == expr.OpDivS) {
		return expr.NewExt(r, 32, t.Unsigned)
	}
	return expr.Retype(r, t.Unsigned), nil
}

// shift takes the count modulo the width, as the CPU does. A constant count of
// 32 or more makes it an operation of 64 bits: that is undefined in C, and
// users of perf-prof mean 2^40 by 1<<40.
func shift(op string, a, b expr.Node, t *c.Type) (expr.Node, error) {
	count, err := expr.NewBinary(expr.OpAnd, b, expr.NewInt(int64(t.Size*8-1)))
	if err != nil {
		return nil, err
	}
	o := expr.OpShl
	if op == ">>" {
		o = expr.OpShrS
		if t.Unsigned {
			o = expr.OpShrU
		}
	}
	r, err := expr.NewBinary(o, a, count)
	if err == nil && o == expr.OpShl && t.Size == 4 {
		r, err = expr.NewExt(r, 32, t.Unsigned)
	}
	return r, err
}

var relations = map[string]struct {
	signed, unsigned expr.Op
	swap             bool
}{
	"==": {expr.OpEq, expr.OpEq, false}, "!=": {expr.OpNe, expr.OpNe, false},
	"<": {expr.OpLtS, expr.OpLtU, false}, "<=": {expr.OpLeS, expr.OpLeU, false},
	">": {expr.OpLtS, expr.OpLtU, true}, ">=": {expr.OpLeS, expr.OpLeU, true},
}

func (l *lowerer) compare(rel struct {
	signed, unsigned expr.Op
	swap             bool
}, a, b expr.Node, x, y value) (value, error) {
	t := c.TULong // pointers
	var err error
	if !x.t.Pointer() && !y.t.Pointer() {
		t = common(x.t, y.t)
		if a, err = convert(a, x.t, t); err != nil {
			return x, err
		}
		if b, err = convert(b, y.t, t); err != nil {
			return x, err
		}
	}
	op := rel.signed
	if t.Unsigned {
		op = rel.unsigned
	}
	if rel.swap {
		// a > b is b < a. If a side has effects, it is !(a <= b), which keeps
		// the order of evaluation.
		if !expr.Pure(a) || !expr.Pure(b) {
			op = map[expr.Op]expr.Op{
				expr.OpLtS: expr.OpLeS, expr.OpLtU: expr.OpLeU,
				expr.OpLeS: expr.OpLtS, expr.OpLeU: expr.OpLtU,
			}[op]
			r, err := expr.NewBinary(op, a, b)
			if err != nil {
				return x, err
			}
			r, err = expr.NewUnary(expr.OpNotB, r)
			return number(c.TInt, r), err
		}
		a, b = b, a
	}
	r, err := expr.NewBinary(op, a, b)
	return number(c.TInt, r), err
}

func (v value) isText() bool { return v.text != nil || v.t.CharPtr() && v.n != nil && v.record == nil }

// texts lowers an operator of two texts.
func (l *lowerer) texts(op expr.Op, xt, yt c.Node, x, y value) (value, error) {
	a, err := l.str(xt, x)
	if err != nil {
		return x, err
	}
	b, err := l.str(yt, y)
	if err != nil {
		return x, err
	}
	r, err := expr.NewBinary(op, a, b)
	return number(c.TInt, r), err
}

func (l *lowerer) logical(op string, xt, yt c.Node, x, y value) (value, error) {
	a, err := l.truth(xt, x)
	if err != nil {
		return x, err
	}
	b, err := l.truth(yt, y)
	if err != nil {
		return x, err
	}
	o := expr.OpAndB
	if op == "||" {
		o = expr.OpOrB
	}
	r, err := expr.NewBinary(o, a, b)
	return number(c.TInt, r), err
}
