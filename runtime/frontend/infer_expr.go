package frontend

import (
	"ppscript/runtime/diag"
	"ppscript/runtime/event"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file infers the kinds of expressions.

// expr walks an expression.
func (s *scan) expr(e syntax.Expr) role {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return s.expr(e.X)
	case *syntax.Literal:
		switch x := e.Value.(type) {
		case string:
			return role{kind: kindText, c: starlark.String(x)}
		case int64:
			return role{kind: kindInt, c: starlark.MakeInt64(x)}
		case float64:
			return role{kind: kindFloat}
		}
	case *syntax.Ident:
		return s.ident(e)
	case *syntax.DotExpr:
		return s.dot(e)
	case *syntax.UnaryExpr:
		if e.X == nil {
			return role{}
		}
		x := s.expr(e.X)
		if e.Op == syntax.NOT {
			return role{kind: kindBool}
		}
		return role{kind: x.kind}
	case *syntax.BinaryExpr:
		return s.binary(e)
	case *syntax.CondExpr:
		s.expr(e.Cond)
		x, y := s.expr(e.True), s.expr(e.False)
		switch {
		case (isZero(x.c) || x.weak) && y.kind.number() && y.kind != kindBool: // unset, or something
			return role{kind: y.kind}
		case (isZero(y.c) || y.weak) && x.kind.number() && x.kind != kindBool:
			return role{kind: x.kind}
		}
		return role{kind: joinKinds(x.kind, y.kind)}
	case *syntax.CallExpr:
		return s.call(e)
	case *syntax.IndexExpr:
		return s.index(e)
	case *syntax.SliceExpr:
		for _, x := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
			if x != nil {
				s.expr(x)
			}
		}
		if x := s.expr(e.X); x.kind == kindText {
			return role{kind: kindText}
		}
	case *syntax.TupleExpr:
		s.all(e.List)
		return role{kind: kindOther}
	case *syntax.ListExpr:
		s.all(e.List)
		return role{kind: kindOther}
	case *syntax.DictExpr:
		return s.dict(e)
	case *syntax.Comprehension:
		return role{kind: kindOther}
	}
	return role{}
}

func (s *scan) dict(e *syntax.DictExpr) role {
	d := starlark.NewDict(len(e.List))
	constant := true
	for _, x := range e.List {
		kv := x.(*syntax.DictEntry)
		k, v := s.expr(kv.Key), s.expr(kv.Value)
		constant = constant && k.c != nil && v.c != nil && d.SetKey(k.c, v.c) == nil
	}
	if !constant {
		return role{kind: kindOther}
	}
	return role{kind: kindOther, c: d}
}

func (s *scan) all(list []syntax.Expr) {
	for _, x := range list {
		s.expr(x)
	}
}

func (s *scan) ident(id *syntax.Ident) role {
	if v := firstOf(id); v != nil {
		if r, ok := s.vars[v]; ok {
			return r
		}
	}
	if c := s.m.host.ValueOf(s.fn, id); c != nil {
		return role{kind: kindOf(c), c: c}
	}
	return role{}
}

func (s *scan) dot(e *syntax.DotExpr) role {
	x := s.expr(e.X)
	name := e.Name.Name
	switch {
	case x.state:
		if v := s.m.find(name); v != nil {
			return role{kind: v.kind, weak: v.weak && v.kind == kindInt}
		}
		s.fail(e.Name, diag.Errorf(diag.Run, "fold", "state", "no member %s%s", name,
			diag.DidYouMean(name, s.m.names())).WithHint("declare it: state = {%q: 0}", name))
		return role{}
	case x.events != nil:
		return s.field(x, name)
	case x.c != nil:
		if a, ok := x.c.(starlark.HasAttrs); ok {
			if v, err := a.Attr(name); err == nil && v != nil {
				return role{kind: kindOf(v), c: v}
			}
		}
	case name == "ns" && (x.kind == kindNanos || x.kind == kindMoment), name == "bytes" && x.kind == kindSize:
		return role{kind: kindInt}
	case x.kind == kindNanos || x.kind == kindMoment || x.kind == kindSize:
		return role{kind: kindFloat}
	}
	return role{}
}

// field is an attribute of an event; see accessOf.
func (s *scan) field(x role, name string) role {
	if x.part == "" && (name == "start" || name == "end") {
		for _, sc := range x.events {
			if sc.Parts[name] != nil {
				return role{kind: kindOther, events: x.events, part: name}
			}
		}
	}
	k := kindUnknown
	for _, sc := range x.events {
		schema := sc.Schema
		computed := name
		if x.part != "" {
			schema, computed = sc.Parts[x.part], x.part+"."+name
		}
		if n, ok := sc.Vars[computed]; ok {
			k = joinKinds(k, kindOfNode(n))
			continue
		}
		if schema == nil {
			continue
		}
		a := accessOf(schema, name)
		switch {
		case a == nil: // another event has it
		case a.how == howDelay:
			k = joinKinds(k, kindNanos)
		case a.how == howConst:
			k = joinKinds(k, kindText)
		case a.field != nil:
			k = joinKinds(k, kindOfField(a.field))
		}
	}
	return role{kind: k}
}

func (s *scan) binary(e *syntax.BinaryExpr) role {
	x, y := s.expr(e.X), s.expr(e.Y)
	switch e.Op {
	case syntax.AND, syntax.OR:
		return role{kind: joinKinds(x.kind, y.kind)}
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		s.compared(e, x, y)
		return role{kind: kindBool}
	case syntax.IN, syntax.NOT_IN:
		return role{kind: kindBool}
	}
	return role{kind: arithRoles(e.Op, x, y)}
}

// arithRoles is arithKind where a member may turn out to be a sum of what is
// added to it.
func arithRoles(op syntax.Token, x, y role) kind {
	if op == syntax.PLUS || op == syntax.MINUS {
		switch {
		case x.weak && (y.kind == kindNanos || y.kind == kindSize):
			return y.kind
		case y.weak && (x.kind == kindNanos || x.kind == kindSize):
			return x.kind
		}
	}
	return arithKind(op, x.kind, y.kind)
}

// compared finds comparisons that cannot be meant: a time is never equal to a
// number, and is neither less nor more.
func (s *scan) compared(e *syntax.BinaryExpr, x, y role) {
	if x.kind == kindUint {
		x.kind = kindInt
	}
	if y.kind == kindUint {
		y.kind = kindInt
	}
	u, v := x.kind.unit(), y.kind.unit()
	known := x.kind.number() && y.kind.number() && x.kind != kindBool && y.kind != kindBool
	if !known || u == v {
		return
	}
	d := diag.Errorf(diag.Run, "fold", "", "a %s is compared with a %s", x.kind, y.kind)
	switch {
	case u != event.NoUnit && v != event.NoUnit:
		d.Hint = "subtract two times to get a duration"
	case u == event.Moment || v == event.Moment:
		d.Hint = "ask whether a time was set with: if s.name"
	default:
		d.Hint = "give the number a unit, for example 10 * us"
	}
	s.fail(e, d)
}

func (s *scan) index(e *syntax.IndexExpr) role {
	x := s.expr(e.X)
	s.expr(e.Y)
	if x.kind == kindText {
		return role{kind: kindText}
	}
	k := kindUnknown
	switch c := x.c.(type) {
	case *starlark.Dict:
		for _, kv := range c.Items() {
			k = joinKinds(k, kindOf(kv[1]))
		}
	case starlark.Indexable:
		for i := range c.Len() {
			k = joinKinds(k, kindOf(c.Index(i)))
		}
	}
	return role{kind: k}
}

func (s *scan) call(e *syntax.CallExpr) role {
	if dot, ok := e.Fn.(*syntax.DotExpr); ok {
		x := s.expr(dot.X)
		args := s.args(e)
		if x.state {
			s.dot(dot)
		}
		return role{kind: methodKind(x, dot.Name.Name, args)}
	}
	fn := s.expr(e.Fn)
	if isEmit(s.m.host, fn.c) {
		s.emit(e)
		return role{kind: kindNone}
	}
	args := s.args(e)
	switch f := fn.c.(type) {
	case *starlark.Function:
		if plainArgs(e.Args) {
			return role{kind: s.function(f, args)}
		}
	case starlark.Callable:
		return role{kind: builtinKind(f, args)}
	}
	return role{}
}

func (s *scan) args(e *syntax.CallExpr) []role {
	args := make([]role, 0, len(e.Args))
	for _, a := range e.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			s.expr(b.Y)
			continue
		}
		args = append(args, s.expr(a))
	}
	return args
}
