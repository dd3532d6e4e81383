package cexpr

import (
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// This file lowers C's operations on memory: pointers, members, casts.

// decay returns the pointer type for an array type, and other types unchanged.
func decay(t *c.Type) *c.Type {
	if t.Kind == c.Array {
		return c.PtrTo(t.Elem)
	}
	return t
}

// step is the number of bytes by which a pointer moves; a void pointer moves by
// one.
func step(t *c.Type) int { return max(t.Elem.Size, 1) }

func (l *lowerer) deref(at c.Node, x value) (value, error) {
	if x.kernel != nil {
		d, err := x.kernel.Deref()
		return l.kernelValue(at, d, err)
	}
	if x.text != nil && x.n == nil {
		n, err := expr.NewStrAt(x.text, expr.NewInt(0), true)
		return number(c.TChar, n), err
	}
	if !x.t.Pointer() || x.record != nil {
		return x, l.errorf(at, "this is a %s, want a pointer", x.t)
	}
	return l.load(at, x.n, x.t.Elem)
}

// load returns the value of a type at an address.
func (l *lowerer) load(at c.Node, addr expr.Node, t *c.Type) (value, error) {
	if k := l.sc.Services.Kernel; k != nil && !expr.IntoRecord(addr) {
		d, err := k.Cast(addr, t.String()+" *", at.String())
		if err == nil {
			d, err = d.Deref()
		}
		return l.kernelValue(at, d, err)
	}
	v := value{t: t, addr: addr}
	var err error
	switch t.Kind {
	case c.Int, c.Bool, c.Ptr:
		if v.n = element(l.sc, addr, t); v.n == nil {
			v.n, err = expr.NewMem(addr, t.Size, !t.Unsigned)
		}
	case c.Array:
		v.n = addr
	default:
		return v, l.errorf(at, "a %s cannot be read; cast the pointer to one of an integer type", t)
	}
	return v, err
}

// element returns the element of an array field at an address, as a field; nil if there
// is no element of that type at the address.
func element(sc *expr.Scope, addr expr.Node, t *c.Type) expr.Node {
	off, p, ok := expr.RecordOffset(addr)
	if !ok {
		return nil
	}
	s := sc.Part(p.Name())
	if s == nil {
		return nil
	}
	f, ok := s.ElementAt(off, t.Size)
	if !ok || f.Signed == t.Unsigned {
		return nil
	}
	return expr.NewField(f, p)
}

func (l *lowerer) index(n *c.Index) (value, error) {
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	i, err := l.expr(n.I)
	if err != nil {
		return i, err
	}
	if x.kernel != nil {
		k, err := l.integer(n.I, i)
		if err != nil {
			return i, err
		}
		d, err := x.kernel.Index(k)
		return l.kernelValue(n, d, err)
	}
	if x.text != nil && x.n == nil {
		k, err := l.integer(n.I, i)
		if err != nil {
			return i, err
		}
		at, err := expr.NewStrAt(x.text, k, true)
		return number(c.TChar, at), err
	}
	if x.text != nil {
		x = value{t: x.t, n: x.n} // the address, not the text
	}
	p, err := l.apply(n, "+", n.X, n.I, x, i)
	if err != nil {
		return p, err
	}
	if !p.t.Pointer() {
		return p, l.errorf(n.X, "this is a %s, want an array or a pointer", x.t)
	}
	return l.load(n, p.n, p.t.Elem)
}

// address lowers &x.
func (l *lowerer) address(n *c.Unary) (value, error) {
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	if x.kernel != nil {
		p, err := x.kernel.Address()
		return number(c.PtrTo(kernelCType(x.kernel.Type)), p), l.kernelError(n, err)
	}
	if x.addr == nil {
		return x, l.errorf(n.X, "this has no address: it is not part of the event's record")
	}
	return value{t: c.PtrTo(x.t), n: x.addr}, nil
}

// pointerOp lowers + or - with a pointer.
func (l *lowerer) pointerOp(at c.Node, op string, xt, yt c.Node, a, b expr.Node, x, y value) (value, error) {
	bad := func() (value, error) {
		return x, l.errorf(at, "operator %s cannot be used with a %s and a %s; "+
			"a pointer as a number is (long)NAME", op, x.t, y.t)
	}
	switch {
	case x.t.Pointer() && y.t.Pointer():
		if op != "-" || step(x.t) != step(y.t) {
			return bad()
		}
		d, err := expr.NewBinary(expr.OpSub, expr.Retype(a, false), expr.Retype(b, false))
		if err == nil {
			d, err = expr.NewBinary(expr.OpDivS, d, expr.NewInt(int64(step(x.t))))
		}
		return number(c.TLong, d), err
	case op == "+" && y.t.Pointer():
		return l.pointerOp(at, op, yt, xt, b, a, y, x)
	case op != "+" && op != "-":
		return bad()
	}
	by, err := expr.NewBinary(expr.OpMul, b, expr.NewInt(int64(step(x.t))))
	if err != nil {
		return x, err
	}
	o := expr.OpAdd
	if op == "-" {
		o = expr.OpSub
	}
	r, err := expr.NewBinary(o, a, by)
	return number(decay(x.t), r), err
}

func (l *lowerer) member(n *c.Member) (value, error) {
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	if d, ok, err := l.inKernel(n.X, x); ok {
		if err == nil {
			d, err = d.Member(n.Name)
		}
		return l.kernelValue(n, d, err)
	}
	if x.record == nil {
		return x, l.errorf(n, "members of a %s are not known here; only fields of the event are", x.t)
	}
	path := x.part.Name() + "." + n.Name
	if v, ok := l.sc.Vars[path]; ok && x.part != expr.Self {
		return l.valueOf(n, v)
	}
	if f, ok := x.record.Field(n.Name); ok {
		return fieldValue(f, x.part), nil
	}
	if s := l.sc.Parts[path]; s != nil && x.part != expr.Self {
		return recordValue(s, expr.PartNamed(path)), nil
	}
	x.record.Field("")
	names := x.record.Names()
	e := l.errorAt(n.End()-len(n.Name), "%s has no field %s%s", x.record.FullName(), n.Name,
		diag.DidYouMean(n.Name, names))
	return x, e.(*diag.Error).WithHint("use one of: %s", joinNames(names))
}

// resolve replaces typeof in a type, and returns an error for an unknown name.
func (l *lowerer) resolve(at c.Node, t *c.Type) (*c.Type, error) {
	switch t.Kind {
	case c.Unknown:
		return nil, l.errorf(at, "unknown type %s", t.Name)
	case c.TypeOf:
		v, err := l.expr(t.Of)
		return v.t, err
	case c.Ptr:
		if t.Elem.Kind == c.Unknown {
			return c.PtrTo(&c.Type{Kind: c.Record, Name: t.Elem.Name}), nil
		}
		elem, err := l.resolve(at, t.Elem)
		if err != nil || elem == t.Elem {
			return t, err
		}
		return c.PtrTo(elem), nil
	case c.Array:
		elem, err := l.resolve(at, t.Elem)
		if err != nil || elem == t.Elem {
			return t, err
		}
		return c.ArrayOf(elem, t.Len), nil
	}
	return t, nil
}

func (l *lowerer) cast(n *c.Cast) (value, error) {
	x, err := l.expr(n.X)
	if err != nil {
		return x, err
	}
	t, err := l.resolve(n, n.Type)
	if err != nil {
		return x, err
	}
	switch t.Kind {
	case c.Void:
		r, err := l.root(x)
		if err != nil {
			return x, l.errorf(n.X, "%v", err)
		}
		return value{t: t, n: expr.NewBlock(r)}, nil
	case c.Ptr:
		if x.text != nil && t.CharPtr() {
			x.t, x.addr = t, nil
			return x, nil
		}
		if x.record != nil {
			return value{t: t, n: x.n}, nil
		}
		a, err := l.num(n.X, x)
		if err != nil {
			return x, err
		}
		return number(t, expr.Retype(a, true)), nil
	case c.Int, c.Bool:
		a, err := l.num(n.X, x)
		if err != nil {
			return x, err
		}
		a, err = convert(a, x.t, t)
		if err != nil {
			return x, err
		}
		return number(t, expr.Retype(a, t.Unsigned)), nil
	}
	return x, l.errorf(n, "nothing can be converted to a %s", t)
}

func (l *lowerer) sizeof(n *c.Sizeof) (value, error) {
	t := n.Type
	if t == nil {
		x, err := l.expr(n.X)
		if err != nil {
			return x, err
		}
		t = x.t
	} else {
		var err error
		if t, err = l.resolve(n, t); err != nil {
			return value{}, err
		}
	}
	size := t.Size
	if t.Kind == c.Void {
		size = 1
	} else if size == 0 {
		return value{}, l.errorf(n, "the size of a %s is not known", t)
	}
	return number(c.TULong, expr.NewUint(uint64(size))), nil
}
