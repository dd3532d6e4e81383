package expr

import (
	"ppscript/runtime/expr/c"
)

// This file lowers C's arithmetic: promotions, conversions, operators.

// promote is the integer promotion: a type narrower than int becomes int.
// Values are kept extended, so that the node stays.
func promote(t *c.Type) *c.Type {
	if t.Size < 4 {
		return c.TInt
	}
	return t
}

// common is the type of the usual arithmetic conversions.
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

// convert gives the number of type from the type to. It is nothing but a
// change of mind unless bits are lost.
func convert(n Node, from, to *c.Type) (Node, error) {
	if to.Kind == c.Bool {
		b, err := NewUnary(OpTruth, n)
		if err != nil {
			return nil, err
		}
		return toInt(b), nil
	}
	n = toInt(n)
	fits := to.Size >= 8 || to.Size > from.Size && from.Unsigned ||
		to.Size >= from.Size && from.Unsigned == to.Unsigned
	if k, ok := n.(*Const); ok {
		x, err := NewExt(k, to.Size*8, to.Unsigned)
		if err != nil {
			return nil, err
		}
		return retype(x, to.Unsigned), nil
	}
	if fits {
		return n, nil
	}
	return NewExt(n, to.Size*8, to.Unsigned)
}

// integer checks that a value is an integer.
func (l *lowerer) integer(at c.Node, v value) (Node, error) {
	n, err := l.num(at, v)
	if err == nil && !v.t.Integer() {
		err = l.errorf(at, "this is a %s, want an integer", v.t)
	}
	return n, err
}

func (l *lowerer) unary(n *c.Unary) (value, error) {
	switch n.Op {
	case "++", "--":
		return l.increment(n, n.X, n.Op, false)
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
		b, err = NewUnary(OpNotB, b)
		return number(c.TInt, b), err
	}
	num, err := l.integer(n.X, x)
	if err != nil {
		return x, err
	}
	t := promote(x.t)
	switch n.Op {
	case "-":
		num, err = NewUnary(OpNeg, num)
	case "~":
		num, err = NewUnary(OpNot, num)
	}
	if err == nil && t.Size == 4 && (n.Op == "-" || n.Op == "~" && t.Unsigned) {
		num, err = NewExt(num, 32, t.Unsigned)
	}
	return number(t, num), err
}

func (l *lowerer) binary(n *c.Binary) (value, error) {
	// Left-deep chains are the usual long expression; the recursion is as
	// deep as the tree, which the parser bounds.
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

// apply is x OP y; at is the whole, for errors.
func (l *lowerer) apply(at c.Node, op string, xt, yt c.Node, x, y value) (value, error) {
	switch op {
	case ",":
		first, err := l.root(x)
		if err != nil {
			return x, l.errorf(xt, "%v", err)
		}
		return l.after([]Node{first}, yt, y)
	case "&&", "||":
		return l.logical(op, xt, yt, x, y)
	case "~":
		return l.texts(OpGlob, xt, yt, x, y)
	case "==", "!=":
		if x.isText() && y.isText() {
			o := OpStrEq
			if op == "!=" {
				o = OpStrNe
			}
			return l.texts(o, xt, yt, x, y)
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
	if rel, ok := relations[op]; ok {
		return l.compare(rel, a, b, x, y)
	}
	if x.t.Pointer() || y.t.Pointer() {
		return l.pointerOp(at, op, xt, yt, a, b, x, y)
	}
	if op == "<<" || op == ">>" {
		t := promote(x.t)
		if k, ok := b.(*Const); ok && t.Size == 4 && uint64(k.Int) >= 32 {
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

func arith(op string, a, b Node, t *c.Type) (Node, error) {
	o := map[string]Op{
		"+": OpAdd, "-": OpSub, "*": OpMul, "/": OpDivS, "%": OpModS, "&": OpAnd, "|": OpOr, "^": OpXor,
	}[op]
	if t.Unsigned && o == OpDivS {
		o = OpDivU
	} else if t.Unsigned && o == OpModS {
		o = OpModU
	}
	r, err := NewBinary(o, a, b)
	if err != nil {
		return nil, err
	}
	if t.Size == 4 && (o == OpAdd || o == OpSub || o == OpMul || o == OpDivS) {
		return NewExt(r, 32, t.Unsigned)
	}
	return retype(r, t.Unsigned), nil
}

// shift takes the count modulo the width, as the machine does. A constant
// count that an int has no room for makes the operation one of 64 bits: C
// leaves it undefined, and perf-prof's users mean 2^40 by 1<<40.
func shift(op string, a, b Node, t *c.Type) (Node, error) {
	count, err := NewBinary(OpAnd, b, NewInt(int64(t.Size*8-1)))
	if err != nil {
		return nil, err
	}
	o := OpShl
	if op == ">>" {
		o = OpShrS
		if t.Unsigned {
			o = OpShrU
		}
	}
	r, err := NewBinary(o, a, count)
	if err == nil && o == OpShl && t.Size == 4 {
		r, err = NewExt(r, 32, t.Unsigned)
	}
	return r, err
}

var relations = map[string]struct {
	signed, unsigned Op
	swap             bool
}{
	"==": {OpEq, OpEq, false}, "!=": {OpNe, OpNe, false},
	"<": {OpLtS, OpLtU, false}, "<=": {OpLeS, OpLeU, false},
	">": {OpLtS, OpLtU, true}, ">=": {OpLeS, OpLeU, true},
}

func (l *lowerer) compare(rel struct {
	signed, unsigned Op
	swap             bool
}, a, b Node, x, y value) (value, error) {
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
		// a > b is b < a. The constructor does not care which side is
		// evaluated first unless it matters to the user.
		if !Pure(a) || !Pure(b) {
			op = map[Op]Op{OpLtS: OpLeS, OpLtU: OpLeU, OpLeS: OpLtS, OpLeU: OpLtU}[op]
			r, err := NewBinary(op, a, b)
			if err != nil {
				return x, err
			}
			r, err = NewUnary(OpNotB, r)
			return number(c.TInt, r), err
		}
		a, b = b, a
	}
	r, err := NewBinary(op, a, b)
	return number(c.TInt, r), err
}

func (v value) isText() bool { return v.text != nil || v.t.CharPtr() && v.n != nil && v.record == nil }

// texts applies an operator of two texts.
func (l *lowerer) texts(op Op, xt, yt c.Node, x, y value) (value, error) {
	a, err := l.str(xt, x)
	if err != nil {
		return x, err
	}
	b, err := l.str(yt, y)
	if err != nil {
		return x, err
	}
	r, err := NewBinary(op, a, b)
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
	o := OpAndB
	if op == "||" {
		o = OpOrB
	}
	r, err := NewBinary(o, a, b)
	return number(c.TInt, r), err
}
