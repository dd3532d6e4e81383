package expr

import (
	"fmt"

	"ppscript/runtime/event"
)

// This file makes nodes. The constructors check kinds, choose the type of the
// result, fold constants, and drop operations without effect. An expression
// that always fails, 1/0, is kept: it fails where it is evaluated.

func NewInt(v int64) Node     { return &Const{T: TInt, Int: v} }
func NewUint(v uint64) Node   { return &Const{T: TUint, Int: int64(v)} }
func NewFloat(v float64) Node { return &Const{T: TFloat, Float: v} }
func NewStr(s string) Node    { return &Const{T: TStr, Str: s} }
func NewBool(b bool) Node {
	if b {
		return &Const{T: TBool, Int: 1}
	}
	return &Const{T: TBool}
}

// NewField reads a field's value.
func NewField(f *event.Field, p Part) Node { return &Field{F: f, Part: p} }

// NewFieldView reads a field's bytes, offset or length. Offset and length of
// a field at a fixed place are constants.
func NewFieldView(f *event.Field, p Part, v View) (Node, error) {
	if v == ViewValue {
		return NewField(f, p), nil
	}
	switch f.Place {
	case event.InRaw:
		switch v {
		case ViewOffset:
			return NewInt(int64(f.Offset)), nil
		case ViewLen:
			return NewInt(int64(f.Size)), nil
		}
	case event.DataLoc, event.RelLoc:
	default:
		return nil, fmt.Errorf("%s is not part of the event's record", f.Name)
	}
	return &Field{F: f, Part: p, View: v}, nil
}

// RecordAddr is the address of the record of an event's part, for Mem, CStr and
// MemBytes. It is a symbolic address (see memory.go), not one of this process
// or the kernel.
func RecordAddr(p Part) Node { return RecordAt(p, 0) }

// RecordAt is an address within the record.
func RecordAt(p Part, offset int) Node {
	return &Const{T: TUint, Int: recordBase + int64(p)<<partShift + int64(offset)}
}

const (
	recordBase = 0x7e00_0000_0000_0000 // not canonical, so never a real address
	partShift  = 40
)

// NewUnary applies a unary operator.
func NewUnary(op Op, x Node) (Node, error) {
	s := op.signature()
	if !s.unary {
		return nil, fmt.Errorf("operator %s needs two operands", op)
	}
	xt := x.Type()
	t := Type{Kind: s.out, Unsigned: s.out == Bool}
	switch op {
	case OpTruth:
		if xt.Kind == Bool {
			return x, nil
		}
		if xt.Kind == Void || xt.Kind == Tuple {
			return nil, fmt.Errorf("a %s is neither true nor false", xt)
		}
		if u, ok := x.(*Unary); ok && u.Op == OpToInt {
			return u.X, nil
		}
	case OpNot, OpNeg:
		t.Unsigned = xt.Unsigned
	case OpSigned, OpUnsigned:
		t.Unsigned = op == OpUnsigned
		if xt.Kind == Int && xt.Unsigned == t.Unsigned {
			return x, nil
		}
	}
	if xt.Kind != s.in && op != OpTruth {
		if !(s.in == Int && xt.Kind == Bool) {
			return nil, fmt.Errorf("operator %s: got a %s, want a %s", op, xt, Type{Kind: s.in})
		}
		x = ToInt(x)
	}
	if op == OpNotB {
		if u, ok := x.(*Unary); ok && u.Op == OpNotB {
			return u.X, nil
		}
		if b, ok := x.(*Binary); ok {
			switch b.Op {
			case OpEq:
				return &Binary{OpNe, b.T, b.X, b.Y}, nil
			case OpNe:
				return &Binary{OpEq, b.T, b.X, b.Y}, nil
			}
		}
	}
	return Fold(&Unary{op, t, x}), nil
}

// NewBinary applies a binary operator. The result of a checked operator has a
// sign that follows from the operands: a sum or product with an unsigned side
// is unsigned, a difference is signed.
func NewBinary(op Op, x, y Node) (Node, error) {
	s := op.signature()
	if s.unary {
		return nil, fmt.Errorf("operator %s has one operand", op)
	}
	var err error
	if x, err = operand(op, s.in, x); err != nil {
		return nil, err
	}
	if y, err = operand(op, s.in, y); err != nil {
		return nil, err
	}
	t := Type{Kind: s.out, Unsigned: s.out == Bool}
	if s.out == Int {
		t.Unsigned = x.Type().Unsigned || y.Type().Unsigned
		switch op {
		case OpSubC:
			t.Unsigned = false
		case OpShl, OpShrS, OpShrU, OpShlC, OpShrC:
			t.Unsigned = x.Type().Unsigned
		case OpFloorDiv, OpFloorMod:
			// The result of u64 // -1 is negative: signed unless both
			// sides cannot be.
			t.Unsigned = nonNegative(x) && nonNegative(y) && t.Unsigned
		}
	}
	if op == OpAndB || op == OpOrB {
		if c, ok := x.(*Const); ok {
			if (c.Int != 0) == (op == OpAndB) {
				return y, nil
			}
			return x, nil
		}
		if c, ok := y.(*Const); ok && (c.Int != 0) == (op == OpAndB) {
			return x, nil
		}
	}
	return Fold(&Binary{op, t, x, y}), nil
}

func nonNegative(n Node) bool {
	if c, ok := n.(*Const); ok && c.T.Kind == Int {
		return c.T.Unsigned || c.Int >= 0
	}
	return n.Type().Unsigned
}

func operand(op Op, want Kind, x Node) (Node, error) {
	have := x.Type().Kind
	switch {
	case have == want:
		return x, nil
	case want == Int && have == Bool:
		return ToInt(x), nil
	case want == Float && (have == Int || have == Bool):
		return NewUnary(OpToFloat, x)
	case want == Bool && have != Void && have != Tuple:
		return NewUnary(OpTruth, x)
	}
	return nil, fmt.Errorf("operator %s: got a %s, want a %s", op, x.Type(), Type{Kind: want})
}

// ToInt makes an integer of a bool, 0 or 1.
func ToInt(x Node) Node {
	if x.Type().Kind != Bool {
		return x
	}
	if u, ok := x.(*Unary); ok && u.Op == OpTruth {
		if b, ok := u.X.(*Unary); ok && b.Op == OpToInt {
			return b
		}
	}
	return Fold(&Unary{OpToInt, TInt, x})
}

// NewExt converts to a narrower integer of a number of bits; with 64 it returns
// x.
func NewExt(x Node, bits int, unsigned bool) (Node, error) {
	if !x.Type().Numeric() {
		return nil, fmt.Errorf("a %s is not an integer", x.Type())
	}
	x = ToInt(x)
	switch bits {
	case 64:
		return x, nil
	case 8, 16, 32:
		return Fold(&Ext{x, bits, unsigned}), nil
	}
	return nil, fmt.Errorf("no integer has %d bits", bits)
}

// NewCond makes C's ?:. Both sides must be of one kind; an integer and a bool
// become integers.
func NewCond(test, then, other Node) (Node, error) {
	test, err := NewUnary(OpTruth, test)
	if err != nil {
		return nil, err
	}
	if then, other, err = unify(then, other); err != nil {
		return nil, err
	}
	if c, ok := test.(*Const); ok {
		if c.Int != 0 {
			return then, nil
		}
		return other, nil
	}
	return &Cond{test, then, other}, nil
}

// unify converts two alternatives to one type.
func unify(x, y Node) (Node, Node, error) {
	a, b := x.Type(), y.Type()
	if a == b && a.Kind != Tuple {
		return x, y, nil
	}
	switch {
	case a.Kind == Float && b.Numeric():
		y, err := NewUnary(OpToFloat, y)
		return x, y, err
	case b.Kind == Float && a.Numeric():
		x, err := NewUnary(OpToFloat, x)
		return x, y, err
	case a.Numeric() && b.Numeric():
		x, y = ToInt(x), ToInt(y)
		if x.Type() == y.Type() {
			return x, y, nil
		}
		if nonNegative(x) && nonNegative(y) {
			return Retype(x, true), Retype(y, true), nil
		}
		x, err := NewUnary(OpSigned, x)
		if err != nil {
			return nil, nil, err
		}
		y, err := NewUnary(OpSigned, y)
		return x, y, err
	}
	return nil, nil, fmt.Errorf("alternatives differ: one is a %s, the other a %s", a, b)
}

// Retype reads the bits of an integer with the other sign.
func Retype(x Node, unsigned bool) Node {
	if x.Type().Unsigned == unsigned {
		return x
	}
	if c, ok := x.(*Const); ok {
		return &Const{T: Type{Kind: Int, Unsigned: unsigned}, Int: c.Int}
	}
	// x | 0 with the wanted type, which the back end compiles like x.
	return &Binary{
		OpOr, Type{Kind: Int, Unsigned: unsigned}, x, &Const{T: Type{Kind: Int, Unsigned: unsigned}},
	}
}

// Fold evaluates a node whose operands are constants.
func Fold(n Node) Node {
	for _, c := range Children(n) {
		if _, ok := c.(*Const); !ok {
			return n
		}
	}
	if !Pure(n) {
		return n
	}
	if c, err := Evaluate(n); err == nil && c != nil {
		return c
	}
	return n
}

// Evaluate computes a node whose operands are constants; nil if its value is not a
// constant.
func Evaluate(n Node) (*Const, error) {
	var f Frame
	c := &Const{T: n.Type()}
	switch c.T.Kind {
	case Int, Bool:
		c.Int = genInt(n)(&f)
	case Float:
		c.Float = genFloat(n)(&f)
	case Str:
		c.Str = string(genStr(n)(&f))
	default:
		return nil, nil
	}
	return c, f.Err
}
