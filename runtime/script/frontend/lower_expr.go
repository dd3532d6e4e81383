package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/script/option"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// expr lowers an expression whose value is needed.
func (s *scopeOf) expr(e syntax.Expr) val {
	if s.budget--; s.budget < 0 {
		s.refuse(syntax.Start(e), "the function is too large")
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return s.expr(e.X)
	case *syntax.Literal:
		switch x := e.Value.(type) {
		case string:
			if e.Token == syntax.STRING {
				return val{c: starlark.String(x)}
			}
		case int64:
			return val{c: starlark.MakeInt64(x)}
		case float64:
			return val{c: starlark.Float(x)}
		}
	case *syntax.Ident:
		return s.ident(e)
	case *syntax.DotExpr:
		return s.settled(e.Dot, s.dot(e))
	case *syntax.UnaryExpr:
		return s.unary(e)
	case *syntax.BinaryExpr:
		return s.binary(e)
	case *syntax.CondExpr:
		test := s.condition(e.Cond)
		if test.c != nil {
			if test.c.Truth() {
				return s.expr(e.True)
			}
			return s.expr(e.False)
		}
		return s.choose(e.If, test, s.expr(e.True), s.expr(e.False), false)
	case *syntax.CallExpr:
		return s.settled(e.Lparen, s.call(e))
	case *syntax.TupleExpr:
		return s.tuple(e.Lparen, e.List)
	case *syntax.ListExpr:
		return s.constants(e.Lbrack, e.List)
	case *syntax.DictExpr:
		return s.dict(e)
	case *syntax.SliceExpr:
		return s.slice(e)
	case *syntax.IndexExpr:
		return s.settled(e.Lbrack, s.index(e))
	}
	s.refuse(syntax.Start(e), "this expression cannot be translated")
	return val{}
}

// condition lowers an expression of which only the truth matters, to a constant
// or a bool node.
func (s *scopeOf) condition(e syntax.Expr) val {
	if p, ok := e.(*syntax.ParenExpr); ok {
		return s.condition(p.X)
	}
	if b, ok := e.(*syntax.BinaryExpr); ok && (b.Op == syntax.AND || b.Op == syntax.OR) {
		x := s.condition(b.X)
		if x.c != nil {
			if bool(x.c.Truth()) == (b.Op == syntax.OR) {
				return x
			}
			return s.condition(b.Y)
		}
		y := s.condition(b.Y)
		op := map[syntax.Token]string{syntax.AND: "and", syntax.OR: "or"}[b.Op]
		n, err := expr.PyBinary(op, x.node, s.truth(b.OpPos, y))
		s.must(b.OpPos, err)
		return val{node: n}
	}
	v := s.expr(e)
	if v.c != nil {
		return val{c: v.c.Truth()}
	}
	return val{node: s.truth(syntax.Start(e), v)}
}

// truth converts a value to a bool node.
func (l *lowerer) truth(at syntax.Position, v val) expr.Node {
	switch {
	case v.c != nil:
		return expr.NewBool(bool(v.c.Truth()))
	case v.ev != nil, v.state, v.list != nil: // not empty
		return expr.NewBool(true)
	}
	if t, ok := v.node.(*expr.TupleOf); ok { // a tuple is not empty
		return expr.NewAfter(mayFailOf(t.Elems), expr.NewBool(true))
	}
	n, err := expr.NewUnary(expr.OpTruth, v.node)
	l.must(at, err)
	return n
}

func (l *lowerer) must(at syntax.Position, err error) {
	if err != nil {
		l.refuse(at, "%v", err)
	}
}

func (s *scopeOf) ident(id *syntax.Ident) val {
	if v := firstOf(id); v != nil {
		if x, ok := s.vars[v]; ok {
			if x.unset {
				s.refuse(id.NamePos, "%s may have no value here, or one of another kind", id.Name)
			}
			return x
		}
	}
	c := s.host.ValueOf(s.fn, id)
	if c == nil {
		s.refuse(id.NamePos, "%s has no value yet", id.Name)
	}
	return val{c: c}
}

func (s *scopeOf) dot(e *syntax.DotExpr) val {
	if m, key := askedMember(s.host, s.fn, e); m != nil {
		return s.ask(e, m, key)
	}
	x := s.place(e.X)
	name := e.Name.Name
	if d := s.kernelOf(e.Dot, x); d != nil {
		m, err := d.Member(name)
		s.must(e.Name.NamePos, err)
		return val{data: m}
	}
	switch {
	case x.state:
		return s.loadState(e, name)
	case x.ev != nil:
		return s.field(e, x.ev, name)
	case x.c != nil:
		switch x.c.(type) {
		case *option.Values, *starlarkstruct.Struct, value.Duration, value.Time, value.Size:
			v, err := x.c.(starlark.HasAttrs).Attr(name)
			if err == nil && v != nil {
				return val{c: v}
			}
		}
		s.refuse(e.Dot, "attributes of a %s can change or do not exist", x.c.Type())
	case name == "ns" && (x.unit == event.Nanos || x.unit == event.Moment),
		name == "bytes" && x.unit == event.SizeB:
		return val{node: x.node}
	}
	s.refuse(e.Dot, "attribute %s of a %s", name, typeOf(x))
	return val{}
}

// field lowers an attribute of an event, with the value that a View would
// return.
func (l *lowerer) field(e *syntax.DotExpr, ev *subject, name string) val {
	attr, ok := ev.attribute(l.sc, name)
	switch {
	case !ok:
		l.refuse(e.Name.NamePos, "no field %s", name)
	case attr.computed != nil:
		return l.named(attr.computed)
	case attr.half != nil:
		return val{ev: attr.half}
	}
	a := attr.access
	if a.How == eventview.HowDelay {
		f := &event.Field{Name: "delay", Kind: event.Int, Place: event.InMember, Member: event.MemberDelay,
			Unit: event.Nanos, Size: 8, Signed: true}
		return val{node: expr.NewField(f, ev.which()), unit: event.Nanos}
	}
	f := a.Field
	switch {
	case a.How == eventview.HowConst:
		return val{c: a.Attr}
	case f == nil:
		l.refuse(e.Name.NamePos, "%s cannot be translated", name)
	case f.Place == event.InSlot && f.Kind == event.Bytes:
		l.refuse(e.Name.NamePos, "the kind of %s is known only when it runs", name)
	case f.Kind == event.Str:
		return val{node: expr.NewField(f, ev.which())}
	case f.Place == event.InSlot && f.Type == event.BoolType:
		return val{node: l.truth(e.Name.NamePos, val{node: expr.NewField(f, ev.which())})}
	case f.Kind == event.Float:
		return val{node: expr.NewField(f, ev.which())}
	case f.Kind != event.Int:
		l.refuse(e.Name.NamePos, "%s is an array", name)
	}
	v := val{node: expr.NewField(f, ev.which())}
	if f.Unit == event.Nanos || f.Unit == event.Moment {
		v.unit = f.Unit
	}
	return v
}

func (s *scopeOf) tuple(at syntax.Position, list []syntax.Expr) val {
	vals := make([]val, len(list))
	constant := true
	for i, e := range list {
		vals[i] = s.expr(e)
		constant = constant && vals[i].c != nil
	}
	if constant {
		t := make(starlark.Tuple, len(vals))
		for i, v := range vals {
			t[i] = v.c
		}
		return val{c: t}
	}
	nodes := make([]expr.Node, len(vals))
	for i, v := range vals {
		if nodes[i] = s.measured(at, v); nodes[i].Type().Kind == expr.Tuple {
			s.refuse(at, "a tuple with a %s", typeOf(v))
		}
	}
	n, err := expr.NewTuple(nodes...)
	s.must(at, err)
	return val{node: n}
}

// constants returns the values of a list display of constants, as in x in ["a",
// "b"].
func (s *scopeOf) constants(at syntax.Position, list []syntax.Expr) val {
	var t starlark.Tuple
	for _, e := range list {
		v := s.expr(e)
		if v.c == nil {
			s.refuse(at, "a list is made for each event")
		}
		t = append(t, v.c)
	}
	return val{c: starlark.NewList(t)}
}

func (s *scopeOf) call(e *syntax.CallExpr) val {
	for _, a := range e.Args {
		if !plainArgs([]syntax.Expr{a}) {
			s.refuse(e.Lparen, "a call with named or starred arguments")
		}
	}
	if dot, ok := e.Fn.(*syntax.DotExpr); ok {
		x := s.expr(dot.X)
		if x.ev != nil && dot.Name.Name == "symbolic" {
			return s.symbolic(e, x.ev)
		}
		if x.c != nil {
			return s.constantMethod(e, x.c, dot.Name.Name)
		}
		if isText(x) {
			return s.textMethod(e, x, dot.Name.Name)
		}
		s.refuse(e.Lparen, "method %s", dot.Name.Name)
	}
	fn := s.expr(e.Fn).c
	if isEmit(s.host, fn) {
		s.refuse(e.Lparen, "emit gives no value")
	}
	if f, ok := fn.(*starlark.Function); ok {
		return s.function(e, f)
	}
	if make := kernelMaker(s.host, fn); make != nil {
		return s.kernelCall(e, make)
	}
	if listMaker(s.host, fn) != nil {
		s.must(e.Lparen, errListLoop)
	}
	args := make([]val, len(e.Args))
	for i, a := range e.Args {
		if args[i] = s.expr(a); args[i].ev != nil || args[i].state {
			s.refuse(e.Lparen, "a call of what cannot be translated")
		}
	}
	if f, ok := fn.(starlark.Callable); ok {
		known := true
		v := s.sequenced(e.Lparen, args, func(args []val) (v val) {
			v, known = s.lowerBuiltin(e, f, args)
			if !known {
				v.c = starlark.False
			}
			return v
		})
		if known {
			return v
		}
	}
	s.refuse(e.Lparen, "a call of what cannot be translated")
	return val{}
}

// function inlines a call of a function of the script, as one expression if
// possible.
func (s *scopeOf) function(e *syntax.CallExpr, f *starlark.Function) (v val) {
	args := make([]val, len(e.Args))
	pure := true
	for i, a := range e.Args {
		args[i] = s.expr(a)
		pure = pure && (args[i].node == nil || stable(args[i].node))
	}
	if pure {
		budget, depth := s.budget, s.depth
		if s.try(func() { v = s.enter(f, args, e.Lparen).body(false) }) == nil {
			return v
		}
		s.budget, s.depth = budget, depth
	}
	return s.inlined(e, f)
}

// symbolic lowers e.symbolic("field") to the builtin of that name.
func (l *lowerer) symbolic(e *syntax.CallExpr, ev *subject) val {
	name, ok := literalArg(e.Args)
	if !ok {
		l.refuse(e.Lparen, "the field of symbolic is chosen for each event")
	}
	schema := ev.schema(l.sc)
	if schema == nil {
		l.refuse(e.Lparen, "the event of symbolic is not known")
	}
	f, ok := schema.Field(name)
	switch {
	case !ok || f.Kind != event.Int || f.Place == event.InSlot:
		l.refuse(e.Lparen, "%s is not a numeric field", name)
	case schema.SymbolicOf == nil && schema.Symbolic != nil, !f.Signed && f.Size == 8:
		l.refuse(e.Lparen, "the names of %s are found by the interpreter only", name)
	}
	sc := &expr.Scope{Schema: schema}
	switch ev.which() {
	case expr.Start:
		sc, name = &expr.Scope{Parts: map[string]*event.Schema{"start": schema}}, "start."+name
	case expr.End:
		sc, name = &expr.Scope{Parts: map[string]*event.Schema{"end": schema}}, "end."+name
	}
	n, err := cexpr.Lower("symbolic("+name+")", sc)
	l.must(e.Lparen, err)
	return val{node: n}
}
