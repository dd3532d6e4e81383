package direct

import (
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compiles expressions. Numbers that fit in 64 bits are computed
// here, all else by Starlark's own functions.

// constant is the value of e if it is constant; else nil.
func (c *compiler) constant(e syntax.Expr) starlark.Value {
	switch e := script.Unparen(e).(type) {
	case *syntax.Literal:
		switch v := e.Value.(type) {
		case int64:
			return starlark.MakeInt64(v)
		case float64:
			return starlark.Float(v)
		case string:
			if e.Token == syntax.STRING {
				return starlark.String(v)
			}
		}
	case *syntax.Ident:
		if _, local := slot(e); local || isCell(e) {
			return nil
		}
		if v := c.host.ValueOf(c.fn, e); v != nil {
			return c.host.GuardOf(e.Name, v)
		}
	}
	return nil
}

func (c *compiler) expr(e syntax.Expr) eval {
	e = script.Unparen(e)
	if v := c.constant(e); v != nil {
		return func(*frame) starlark.Value { return v }
	}
	switch e := e.(type) {
	case *syntax.Ident:
		i, ok := slot(e)
		if !ok {
			return c.refuse()
		}
		// A variable without a value is nil, which means failure.
		return func(f *frame) starlark.Value { return f.stack[f.base+i] }
	case *syntax.DotExpr:
		return c.attribute(e)
	case *syntax.CondExpr:
		cond, a, b := c.truth(e.Cond), c.expr(e.True), c.expr(e.False)
		return func(f *frame) starlark.Value {
			switch cond(f) {
			case yes:
				return a(f)
			case no:
				return b(f)
			}
			return nil
		}
	case *syntax.UnaryExpr:
		return c.unary(e)
	case *syntax.BinaryExpr:
		return c.binary(e)
	case *syntax.CallExpr:
		return c.call(e)
	case *syntax.IndexExpr:
		return c.index(e)
	case *syntax.SliceExpr:
		return c.slice(e)
	case *syntax.DictExpr:
		return c.dict(e)
	case *syntax.Comprehension:
		return c.comprehension(e)
	case *syntax.TupleExpr:
		return c.elements(e.List, func(vs []starlark.Value) starlark.Value { return starlark.Tuple(vs) })
	case *syntax.ListExpr:
		return c.elements(e.List, func(vs []starlark.Value) starlark.Value { return starlark.NewList(vs) })
	}
	return c.refuse()
}

func (c *compiler) exprs(list []syntax.Expr) []eval {
	all := make([]eval, len(list))
	for i, e := range list {
		all[i] = c.expr(e)
	}
	return all
}

func truthOf(v starlark.Value) truth {
	if v == nil {
		return unknown
	}
	return truthIf(bool(v.Truth()))
}

func truthIf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// truth compiles an expression of which only the truth is needed.
func (c *compiler) truth(e syntax.Expr) test {
	switch e := script.Unparen(e).(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			x := c.truth(e.X)
			return func(f *frame) truth {
				if t := x(f); t != unknown {
					return 1 - t
				}
				return unknown
			}
		}
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.AND, syntax.OR:
			x, y, end := c.truth(e.X), c.truth(e.Y), truthIf(e.Op == syntax.OR)
			return func(f *frame) truth {
				if t := x(f); t == end || t == unknown {
					return t
				}
				return y(f)
			}
		case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN:
			return c.comparison(e)
		}
	}
	x := c.expr(e)
	return c.truthOfWord(e, func(f *frame) truth { return truthOf(x(f)) })
}

// comparison compiles x < y and the like, and x in y.
func (c *compiler) comparison(e *syntax.BinaryExpr) test {
	x, y := c.expr(e.X), c.expr(e.Y)
	switch e.Op {
	case syntax.IN, syntax.NOT_IN:
		want := yes
		if e.Op == syntax.NOT_IN {
			want = no
		}
		return func(f *frame) truth {
			a, b := both(f, x, y)
			if b == nil {
				return unknown
			}
			v, err := starlark.Binary(syntax.IN, a, b)
			if err != nil {
				return unknown
			}
			return truthIf(bool(v.Truth()) == (want == yes))
		}
	}
	op := e.Op
	return c.worded(e, func(f *frame) truth {
		a, b := both(f, x, y)
		if b == nil {
			return unknown
		}
		switch p := a.(type) {
		case starlark.Int:
			if q, ok := b.(starlark.Int); ok {
				m, small := p.Int64()
				n, too := q.Int64()
				if small && too {
					return truthIf(ordered(op, m, n))
				}
			}
		case starlark.String:
			if q, ok := b.(starlark.String); ok {
				return truthIf(ordered(op, p, q))
			}
		case value.Duration:
			if q, ok := b.(value.Duration); ok {
				return truthIf(ordered(op, p, q))
			}
		}
		ok, err := script.Compare(op, a, b)
		if err != nil {
			return unknown
		}
		return truthIf(ok)
	})
}

func ordered[T int64 | starlark.String | value.Duration](op syntax.Token, x, y T) bool {
	switch op {
	case syntax.EQL:
		return x == y
	case syntax.NEQ:
		return x != y
	case syntax.LT:
		return x < y
	case syntax.LE:
		return x <= y
	case syntax.GT:
		return x > y
	}
	return x >= y
}

func (c *compiler) binary(e *syntax.BinaryExpr) eval {
	switch e.Op {
	case syntax.AND, syntax.OR:
		x, y, end := c.expr(e.X), c.expr(e.Y), e.Op == syntax.OR
		return func(f *frame) starlark.Value {
			v := x(f)
			if v == nil || bool(v.Truth()) == end {
				return v
			}
			return y(f)
		}
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN:
		x := c.comparison(e)
		return func(f *frame) starlark.Value {
			if t := x(f); t != unknown {
				return starlark.Bool(t == yes)
			}
			return nil
		}
	}
	if script.IsNumber(e) {
		v := number(e) // an intermediate result may exceed 64 bits
		return func(*frame) starlark.Value { return v }
	}
	return arithmetic(e.Op, c.expr(e.X), c.expr(e.Y))
}

// number computes a constant expression of numbers; nil if the interpreter must
// report an error.
func number(e syntax.Expr) starlark.Value {
	switch e := script.Unparen(e).(type) {
	case *syntax.Literal:
		switch v := e.Value.(type) {
		case int64:
			return starlark.MakeInt64(v)
		case float64:
			return starlark.Float(v)
		}
	case *syntax.UnaryExpr:
		if x := number(e.X); x != nil && e.Op != syntax.NOT {
			if v, err := starlark.Unary(e.Op, x); err == nil {
				return v
			}
		}
	case *syntax.BinaryExpr:
		x, y := number(e.X), number(e.Y)
		if x == nil || y == nil || !script.IsArithmetic(e.Op) {
			return nil
		}
		if v, err := starlark.Binary(e.Op, x, y); err == nil {
			return v
		}
	}
	return nil
}

// arithmetic compiles x op y by the rules of per-event functions.
func arithmetic(op syntax.Token, x, y eval) eval {
	checked := script.IsArithmetic(op)
	return func(f *frame) starlark.Value {
		a, b := both(f, x, y)
		if b == nil {
			return nil
		}
		return operate(op, checked, a, b)
	}
}

// operate computes x op y; the result of a checked operator has 64 bits.
func operate(op syntax.Token, checked bool, a, b starlark.Value) starlark.Value {
	switch p := a.(type) {
	case starlark.Int:
		if q, ok := b.(starlark.Int); ok {
			if v := small(op, p, q); v != nil {
				return v
			}
		}
		if q, ok := b.(value.Duration); ok && op == syntax.STAR {
			if v := times(q, p); v != nil {
				return v
			}
		}
	case value.Time:
		if q, ok := b.(value.Time); ok && op == syntax.MINUS && p >= 0 && q >= 0 {
			return value.Duration(p - q)
		}
	case value.Duration:
		if q, ok := b.(value.Duration); ok && op == syntax.PLUS && fits(int64(p)) && fits(int64(q)) {
			return p + q
		}
		if q, ok := b.(starlark.Int); ok && op == syntax.STAR {
			if v := times(p, q); v != nil {
				return v
			}
		}
	}
	var v starlark.Value
	var err error
	if checked {
		v, err = script.CheckedBinary(op, a, b)
	} else {
		v, err = starlark.Binary(op, a, b)
	}
	if err != nil {
		return nil
	}
	return v
}

// times multiplies a duration if the result fits in 64 bits; else nil.
func times(d value.Duration, n starlark.Int) starlark.Value {
	if m, ok := n.Int64(); ok && int64(int32(m)) == m && int64(int32(d)) == int64(d) {
		return d * value.Duration(m)
	}
	return nil
}

// fits reports that adding another such number cannot overflow.
func fits(n int64) bool { return n >= -1<<62 && n < 1<<62 }

// small computes with numbers whose result fits in 64 bits; else nil.
func small(op syntax.Token, p, q starlark.Int) starlark.Value {
	x, ok := p.Int64()
	y, too := q.Int64()
	if !ok || !too || !fits(x) || !fits(y) {
		return nil
	}
	if n, ok := computed(op, x, y); ok {
		return starlark.MakeInt64(n)
	}
	return nil
}

func (c *compiler) unary(e *syntax.UnaryExpr) eval {
	if e.X == nil {
		return c.refuse()
	}
	if e.Op == syntax.NOT {
		x := c.truth(e)
		return func(f *frame) starlark.Value {
			if t := x(f); t != unknown {
				return starlark.Bool(t == yes)
			}
			return nil
		}
	}
	x, op, number := c.expr(e.X), e.Op, script.IsNumber(e)
	return func(f *frame) starlark.Value {
		a := x(f)
		if a == nil {
			return nil
		}
		v, err := starlark.Unary(op, a)
		if err == nil && op != syntax.PLUS && !number {
			v, err = script.Fits(v, a, nil)
		}
		if err != nil {
			return nil
		}
		return v
	}
}

// attribute compiles x.name.
func (c *compiler) attribute(e *syntax.DotExpr) eval {
	x, name := c.expr(e.X), e.Name.Name
	own := c.hooks.Attr(name)
	return func(f *frame) starlark.Value {
		a := x(f)
		if a == nil {
			return nil
		}
		if v, ok := own(a); ok {
			return v
		}
		return attr(a, name)
	}
}

func attr(a starlark.Value, name string) starlark.Value {
	has, ok := a.(starlark.HasAttrs)
	if !ok {
		return nil
	}
	v, err := has.Attr(name)
	if err != nil || v == nil {
		return nil
	}
	return script.AskedMethod(v)
}

// index compiles x[y].
func (c *compiler) index(e *syntax.IndexExpr) eval {
	x, y := c.expr(e.X), c.expr(e.Y)
	return func(f *frame) starlark.Value {
		a, b := both(f, x, y)
		if b == nil {
			return nil
		}
		switch a := a.(type) {
		case starlark.Mapping:
			if v, found, err := a.Get(b); err == nil && found {
				return v
			}
		case starlark.Indexable:
			i, err := starlark.AsInt32(b)
			n := a.Len()
			if i < 0 {
				i += n
			}
			if err == nil && i >= 0 && i < n {
				return a.Index(i)
			}
		}
		return nil
	}
}

// both evaluates two expressions; nil if one of them fails.
func both(f *frame, x, y eval) (a, b starlark.Value) {
	if a = x(f); a == nil {
		return nil, nil
	}
	if b = y(f); b == nil {
		return nil, nil
	}
	return a, b
}
