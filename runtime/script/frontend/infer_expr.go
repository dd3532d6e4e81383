package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file infers the kinds of expressions.

// value walks an expression whose value cannot be followed further: if it is
// the event, the event escapes.
func (s *scan) value(e syntax.Expr) role {
	r := s.expr(e)
	s.escaped = s.escaped || r.ev != nil
	if r.data != nil && r.kind == kindOther {
		if _, err := r.data.Node(); err != nil {
			s.wrong(e, err)
		}
	}
	return r
}

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
		x := s.value(e.X)
		if e.Op == syntax.NOT {
			return role{kind: kindBool}
		}
		s.negated(e, x)
		r := role{kind: x.kind, unsure: x.unsure}
		if i, ok := x.c.(starlark.Int); ok {
			r.c, _ = starlark.Unary(e.Op, i)
		}
		return r
	case *syntax.BinaryExpr:
		return s.binary(e)
	case *syntax.CondExpr:
		s.value(e.Cond)
		x, y := s.value(e.True), s.value(e.False)
		from := origins(x.origin(), y.origin())
		switch {
		case (isZero(x.c) || x.weak) && y.kind.number() && y.kind != kindBool: // unset, or something
			return role{kind: y.kind, unsure: x.kind != y.kind || y.unsure, from: from}
		case (isZero(y.c) || y.weak) && x.kind.number() && x.kind != kindBool:
			return role{kind: x.kind, unsure: x.kind != y.kind || x.unsure, from: from}
		}
		return role{kind: joinKinds(x.kind, y.kind), unsure: doubtful(x, y), from: from}
	case *syntax.CallExpr:
		return s.call(e)
	case *syntax.IndexExpr:
		return s.index(e)
	case *syntax.SliceExpr:
		var bounds []role
		for _, x := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
			if x != nil {
				bounds = append(bounds, s.value(x))
			}
		}
		x := s.value(e.X)
		s.sliced(e, x, bounds)
		if x.kind == kindText {
			return role{kind: kindText}
		}
	case *syntax.TupleExpr:
		return displayed(s.all(e.List), true)
	case *syntax.ListExpr:
		return displayed(s.all(e.List), false)
	case *syntax.DictExpr:
		return s.dict(e)
	case *syntax.LambdaExpr:
		s.nested(e.Params, func() { s.value(e.Body) })
		return role{kind: kindOther, sample: someFunction}
	case *syntax.Comprehension:
		s.comprehension(e)
		return role{kind: kindOther}
	}
	return role{}
}

func (s *scan) comprehension(e *syntax.Comprehension) {
	s.apart++
	defer func() { s.apart-- }()
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			s.bind(c.Vars, role{kind: s.member(c.X)})
		case *syntax.IfClause:
			s.value(c.Cond)
		}
	}
	if kv, ok := e.Body.(*syntax.DictEntry); ok {
		s.value(kv.Key)
		s.value(kv.Value)
		return
	}
	s.value(e.Body)
}

func (s *scan) dict(e *syntax.DictExpr) role {
	d, sample := starlark.NewDict(len(e.List)), starlark.NewDict(len(e.List))
	constant, known := true, true
	for _, x := range e.List {
		kv := x.(*syntax.DictEntry)
		k, v := s.value(kv.Key), s.value(kv.Value)
		constant = constant && k.c != nil && v.c != nil && d.SetKey(k.c, v.c) == nil
		both, ok := sampleOfEach([]role{k, v})
		known = known && ok && sample.SetKey(both[0], both[1]) == nil
	}
	if !constant && known {
		return role{kind: kindOther, sample: sample}
	}
	if !constant {
		return role{kind: kindOther}
	}
	return role{kind: kindOther, c: d}
}

func (s *scan) all(list []syntax.Expr) []role {
	roles := make([]role, len(list))
	for i, x := range list {
		roles[i] = s.value(x)
	}
	return roles
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
	if m, key := askedMember(s.m.host, s.fn, e); m != nil {
		return s.askRole(e, m, key)
	}
	return s.attr(e, s.expr(e.X))
}

// attr returns the role of the attribute e of x.
func (s *scan) attr(e *syntax.DotExpr, x role) role {
	name := e.Name.Name
	if d := s.dataOf(e, x); d != nil {
		m, err := d.Member(name)
		if err != nil {
			s.wrong(e.Name, err)
			return role{}
		}
		return s.dataRole(m)
	}
	switch {
	case x.state:
		if v := s.m.find(name); v != nil && v.list != nil {
			return role{kind: kindOther, list: v}
		} else if v != nil {
			return v.elementRole()
		}
		s.fail(e.Name, diag.Errorf(diag.Run, "fold", "state", "no member %s%s", name,
			diag.DidYouMean(name, s.m.names())).WithHint("declare it: state = {%q: 0}", name))
		return role{}
	case x.ev != nil:
		switch name {
		case "symbolic", "_symbolic", "text", "_text":
			s.escaped = true // a method, which may be called later
			return role{}
		}
		return s.field(e, x.ev)
	case x.c != nil:
		if a, ok := x.c.(starlark.HasAttrs); ok {
			if v, err := a.Attr(name); err == nil && v != nil {
				return role{kind: kindOf(v), c: v}
			}
		}
	}
	return role{kind: s.attributed(e, x)}
}

// field returns the role of an attribute of an event.
func (s *scan) field(e *syntax.DotExpr, ev *subject) role {
	name := e.Name.Name
	s.read(name)
	k := kindUnknown
	var pointer *event.Field
	var from []expr.Node
	has, known, all, unsure := false, false, len(ev.scopes) > 0, ev.silent
	for _, sc := range ev.scopes {
		a, ok := ev.attribute(sc, name)
		schema := ev.schema(sc) != nil
		has, known, all = has || ok, known || schema, all && schema
		if ok {
			from = origins(from, []expr.Node{sourceOf(ev, a)})
		}
		switch {
		case !ok: // some other event has it
		case a.half != nil:
			if ev.part != "" { // programs may send pairs without their inner pairs
				s.read(a.half.part)
			}
			return role{kind: kindOther, ev: a.half}
		case a.computed != nil:
			k = joinKinds(k, kindOfNode(a.computed))
			unsure = unsure || kindOfNode(a.computed) == kindUnknown
		case a.access.How == eventview.HowDelay:
			k = joinKinds(k, kindNanos)
		case a.access.How == eventview.HowConst:
			k = joinKinds(k, kindText)
		case a.access.Field != nil:
			k = joinKinds(k, kindOfField(a.access.Field))
			unsure = unsure || kindOfField(a.access.Field) == kindUnknown
			if isPointer(a.access.Field) {
				pointer = a.access.Field
			}
		}
	}
	switch {
	case has:
	case !all && ev.part == "" && (name == "start" || name == "end"): // it may be a pair
		return role{kind: kindOther, ev: ev.muted().half(name)}
	case known && !ev.silent:
		s.unknown(ev, name, e.Name)
	}
	return role{kind: k, pointer: pointer, unsure: unsure, from: from}
}

func (s *scan) binary(e *syntax.BinaryExpr) role {
	x, y := s.value(e.X), s.value(e.Y)
	switch e.Op {
	case syntax.AND, syntax.OR:
		return role{kind: joinKinds(x.kind, y.kind), unsure: doubtful(x, y),
			from: origins(x.origin(), y.origin())}
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		s.compared(e, x, y)
		return role{kind: kindBool}
	case syntax.IN, syntax.NOT_IN:
		s.sought(e, x, y)
		return role{kind: kindBool}
	}
	s.operated(e, e.Op, x, y)
	return role{kind: arithRoles(e.Op, x, y), unsure: doubtful(x, y) && x.kind != kindText,
		from: computedFrom(e.Op, x, y)}
}

// arithRoles is arithKind for roles: a member of the state that is 0 so far
// gets the unit of values added to it.
func arithRoles(op syntax.Token, x, y role) Kind {
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

func (s *scan) index(e *syntax.IndexExpr) role {
	x := s.expr(e.X)
	s.escaped = s.escaped || x.ev != nil
	index := s.value(e.Y)
	if d := s.dataOf(e, x); d != nil && !d.Type.Text() {
		elem, err := d.Index(indexNode(index.c))
		if err != nil {
			s.wrong(e, err)
			return role{}
		}
		return s.dataRole(elem)
	}
	if x.list != nil {
		s.indexed(e.Y, x.list, index)
		return x.list.elementRole()
	}
	s.indexedBy(e, x, index)
	if x.kind == kindText || s.splits(e.X) {
		return role{kind: kindText}
	}
	if k, ok := s.arrayKind(e.X); ok {
		return role{kind: k}
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

// splits reports that e is a call of a text's split(), whose elements are
// texts.
func (s *scan) splits(e syntax.Expr) bool {
	call, ok := e.(*syntax.CallExpr)
	if !ok {
		return false
	}
	dot, ok := call.Fn.(*syntax.DotExpr)
	return ok && dot.Name.Name == "split" && s.expr(dot.X).kind == kindText
}

// arrayKind is the kind of the elements of e, if e is an array of an event.
func (s *scan) arrayKind(e syntax.Expr) (k Kind, ok bool) {
	dot, ok := e.(*syntax.DotExpr)
	if !ok {
		return k, false
	}
	x := s.expr(dot.X)
	if x.ev == nil {
		return k, false
	}
	for _, sc := range x.ev.scopes {
		f, schema := x.ev.array(sc, dot.Name.Name)
		if f == nil {
			continue
		}
		if element, has := schema.Element(f, 0); has {
			return kindOfField(element), true
		}
	}
	return k, false
}

func (s *scan) call(e *syntax.CallExpr) role {
	if dot, ok := e.Fn.(*syntax.DotExpr); ok {
		return s.method(e, dot)
	}
	fn := s.value(e.Fn)
	if isEmit(s.m.host, fn.c) {
		s.emit(e)
		return role{kind: kindNone}
	}
	if make := kernelMaker(s.m.host, fn.c); make != nil {
		return s.kernelCall(e, fn.c.(HasNative), make)
	}
	if listMaker(s.m.host, fn.c) != nil {
		s.wrong(e, errListLoop)
		return role{}
	}
	f, ok := fn.c.(*starlark.Function)
	if !ok {
		args, _ := s.args(e)
		s.lose(args)
		if f, ok := fn.c.(starlark.Callable); ok {
			s.named(e, f)
			s.called(e, f, args)
			return role{kind: builtinKind(f, contents(args)), unsure: doubtful(args...)}
		}
		s.uncallable(e, fn)
		return role{}
	}
	args, starred := s.args(e)
	switch {
	case plainArgs(e.Args):
		s.counted(e, f)
		r := s.enter(f, args, true, s.apart)
		return role{kind: r.kind, unsure: r.unsure, sample: r.sample, from: r.origin()}
	case starred:
		s.lose(args)
	default: // a named argument: only positional events are followed
		s.enter(f, args, false, s.apart+1)
	}
	return role{}
}

// named records an error if a builtin cannot find a constant name.
func (s *scan) named(e *syntax.CallExpr, f starlark.Callable) {
	n := nativeOf(s.m.host, f)
	name, constant := literalArg(e.Args)
	if n == nil || !n.OfName || !constant {
		return
	}
	_, err := starlark.Call(&starlark.Thread{Name: f.Name()}, f, starlark.Tuple{starlark.String(name)}, nil)
	if err != nil {
		s.wrong(e, err)
	}
}

// method returns the role of a call of x.name.
func (s *scan) method(e *syntax.CallExpr, dot *syntax.DotExpr) role {
	x := s.expr(dot.X)
	args, _ := s.args(e)
	s.lose(args)
	switch name := dot.Name.Name; {
	case x.state:
		s.attr(dot, x)
	case x.ev == nil && x.kind.state == typed:
		s.attributed(dot, x)
		s.invoked(e, x, name, args)
	case x.ev == nil:
	case name == "text" || name == "_text":
		s.escaped = true // text() prints all fields
	case name == "symbolic" || name == "_symbolic":
		s.symbolic(e, x.ev)
	default:
		s.uncallable(e, s.field(dot, x.ev))
	}
	return role{kind: methodKind(x, dot.Name.Name, args),
		unsure: x.unsure || x.ev == nil && x.kind != kindText}
}

// symbolic returns the role of e.symbolic("field"), which reads the named
// field.
func (s *scan) symbolic(e *syntax.CallExpr, ev *subject) {
	name, ok := literalArg(e.Args)
	if !ok {
		s.escaped = true
		return
	}
	s.read(name)
	if !ev.hasField(name) {
		s.unknown(ev, name, e.Args[0])
	}
}

// args returns the roles of the positional arguments; named arguments are not
// followed. starred says that more arguments come from a list or dict.
func (s *scan) args(e *syntax.CallExpr) (args []role, starred bool) {
	args = make([]role, 0, len(e.Args))
	for _, a := range e.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				if s.byName == nil {
					s.byName = map[*syntax.BinaryExpr]role{}
				}
				s.byName[a] = s.value(a.Y)
				continue
			}
		case *syntax.UnaryExpr:
			starred = starred || a.Op == syntax.STAR || a.Op == syntax.STARSTAR
		}
		args = append(args, s.expr(a))
	}
	return args, starred
}
