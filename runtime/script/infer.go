package script

import (
	"slices"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file finds out what a fold's functions keep in the state and emit: the
// names, and the kind of each value. Both tiers need it before the first
// event: the fields of the new stream must be known, and state = {"since": 0}
// means a time if the function assigns one.
//
// It walks the functions in the order of the text, over all branches, until
// nothing new is learnt. What it cannot know is kindUnknown, and is checked
// when the script runs. It reports only what must be wrong.

// A role is what is known of an expression.
type role struct {
	kind   kind
	c      starlark.Value // of a constant
	state  bool           // it is the state
	weak   bool           // an unset member of it, of which nothing is known yet
	events []*expr.Scope  // it is an event, of these
	part   string         // it is this half of a pair
}

type inference struct {
	m       *Machine
	emits   []*emitSite
	changed bool
	depth   int
	active  []*starlark.Function
	errs    []*diag.Error
}

// An emitSite is one call of emit.
type emitSite struct {
	call  *syntax.CallExpr
	names []string
	kinds []kind
}

// scan is the walk through one function with one set of arguments.
type scan struct {
	*inference
	fn   *starlark.Function
	vars map[*syntax.Ident]role
	ret  kind
}

// function walks fn and returns the kind of its result.
func (in *inference) function(fn *starlark.Function, args []role) kind {
	tree := in.m.host.Syntax(fn)
	if tree == nil || slices.Contains(in.active, fn) || len(in.active) > 16 {
		return kindUnknown
	}
	in.active = append(in.active, fn)
	defer func() { in.active = in.active[:len(in.active)-1] }()
	s := &scan{inference: in, fn: fn, vars: map[*syntax.Ident]role{}}
	for i, p := range tree.Params {
		id := paramIdent(p)
		switch {
		case id == nil:
		case i < len(args):
			s.vars[id] = args[i]
		case i < fn.NumParams() && fn.ParamDefault(i) != nil:
			s.vars[id] = role{kind: kindOf(fn.ParamDefault(i)), c: fn.ParamDefault(i)}
		}
	}
	// Twice: a variable may be used above its last assignment in a loop.
	for range 2 {
		s.ret = kindUnknown
		s.block(tree.Body)
	}
	return s.ret
}

func (s *scan) block(list []syntax.Stmt) {
	for _, st := range list {
		switch st := st.(type) {
		case *syntax.AssignStmt:
			s.assign(st)
		case *syntax.ExprStmt:
			s.expr(st.X)
		case *syntax.IfStmt:
			s.expr(st.Cond)
			s.block(st.True)
			s.block(st.False)
		case *syntax.ForStmt:
			s.bind(st.Vars, role{kind: s.member(st.X)})
			s.block(st.Body)
		case *syntax.WhileStmt:
			s.expr(st.Cond)
			s.block(st.Body)
		case *syntax.ReturnStmt:
			if st.Result != nil {
				s.ret = joinKinds(s.ret, s.expr(st.Result).kind)
			}
		}
	}
}

// member is the kind of what a loop over e yields.
func (s *scan) member(e syntax.Expr) kind {
	r := s.expr(e)
	if call, ok := e.(*syntax.CallExpr); ok {
		if id, ok := call.Fn.(*syntax.Ident); ok && id.Name == "range" {
			return kindInt
		}
	}
	seq, ok := r.c.(starlark.Iterable)
	if !ok {
		return kindUnknown
	}
	k := kindUnknown
	for v := range starlark.Elements(seq) {
		k = joinKinds(k, kindOf(v))
	}
	return k
}

func (s *scan) bind(lhs syntax.Expr, r role) {
	switch lhs := lhs.(type) {
	case *syntax.Ident:
		id := firstOf(lhs)
		if id == nil {
			return
		}
		if old, ok := s.vars[id]; ok && !(old.state || old.events != nil) {
			r = role{kind: joinKinds(old.kind, r.kind)}
		} else if ok && (r.state || r.events != nil) {
			return
		}
		s.vars[id] = r
	case *syntax.ParenExpr:
		s.bind(lhs.X, r)
	case *syntax.TupleExpr:
		for _, x := range lhs.List {
			s.bind(x, role{})
		}
	case *syntax.DotExpr:
		if base := s.expr(lhs.X); base.state {
			s.store(lhs, r)
		}
	default:
		s.expr(lhs)
	}
}

func (s *scan) assign(st *syntax.AssignStmt) {
	r := s.expr(st.RHS)
	if st.Op != syntax.EQ {
		old := s.expr(st.LHS)
		r = role{kind: arithRoles(st.Op-syntax.PLUS_EQ+syntax.PLUS, old, r)}
	} else if l, ok := st.LHS.(*syntax.TupleExpr); ok {
		if t, ok := st.RHS.(*syntax.TupleExpr); ok && len(t.List) == len(l.List) {
			for i := range l.List {
				s.bind(l.List[i], s.expr(t.List[i]))
			}
			return
		}
	}
	s.bind(st.LHS, r)
}

// store learns that a value is assigned to a member of the state.
func (s *scan) store(at *syntax.DotExpr, r role) {
	v := s.m.find(at.Name.Name)
	if v == nil {
		s.fail(at.Name, diag.Errorf(diag.Run, "fold", "state", "no member %s%s", at.Name.Name,
			diag.DidYouMean(at.Name.Name, s.m.names())).WithHint("declare it: state = {%q: 0}", at.Name.Name))
		return
	}
	if isZero(r.c) && v.kind.number() && v.kind != kindBool {
		return // back to unset
	}
	k := v.kind
	switch {
	case r.kind == kindUnknown || r.kind == kindMixed || r.kind == k:
		return
	case v.weak && k == kindInt && (r.kind == kindNanos || r.kind == kindMoment || r.kind == kindSize || r.kind == kindUint):
		k = r.kind
	case k == kindInt && r.kind == kindUint, k == kindUint && r.kind == kindInt:
		k = kindUint
	default:
		s.fail(at.Name, diag.Errorf(diag.Run, "fold", "state "+v.name, "is a %s and is assigned a %s", k, r.kind).
			WithHint("give it one kind; what is unset is 0, \"\" or False"))
		return
	}
	if k != v.kind {
		v.kind, s.changed = k, true
	}
}

// isZero reports a constant 0, which unsets any number of a state.
func isZero(c starlark.Value) bool {
	i, ok := c.(starlark.Int)
	return ok && i.Sign() == 0
}

func (s *scan) fail(at syntax.Node, d *diag.Error) {
	sp := nodeSpan(at)
	for _, e := range s.errs {
		if e.Pos == sp.pos.String() {
			return
		}
	}
	s.errs = append(s.errs, s.m.host.atSpan(sp, d))
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
	if c := valueOf(s.m.host, s.fn, id); c != nil {
		return role{kind: kindOf(c), c: c}
	}
	return role{}
}

// valueOf is what a name that is no local variable stands for in fn; nil if
// that is not known.
func valueOf(h *Host, fn *starlark.Function, id *syntax.Ident) starlark.Value {
	b, _ := id.Binding.(*resolve.Binding)
	if b == nil {
		return nil
	}
	switch b.Scope {
	case resolve.Free:
		for i := range fn.NumFreeVars() {
			if bind, x := fn.FreeVar(i); bind.Name == id.Name {
				return x
			}
		}
	case resolve.Global:
		return fn.Globals()[id.Name]
	case resolve.Predeclared:
		return h.opts.Predeclared[id.Name]
	case resolve.Universal:
		return starlark.Universe[id.Name]
	}
	return nil
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

// emit notes what a call of emit gives.
func (s *scan) emit(e *syntax.CallExpr) {
	site := &emitSite{call: e}
	for _, a := range e.Args {
		b, ok := a.(*syntax.BinaryExpr)
		if !ok || b.Op != syntax.EQ {
			s.fail(a, diag.Errorf(diag.Run, "emit", "", "got a value without a name").
				WithHint("name every value: emit(delay = e.time - s.since)"))
			s.expr(a)
			continue
		}
		name := b.X.(*syntax.Ident).Name
		k := s.expr(b.Y).kind
		if k == kindMixed {
			k = kindUnknown
		}
		if k == kindNone || k == kindOther {
			s.fail(b.Y, diag.Errorf(diag.Run, "emit", name, "got a %s, want a number, text or duration", k).
				WithHint("emit one value for each name"))
		}
		site.names = append(site.names, name)
		site.kinds = append(site.kinds, k)
	}
	if len(e.Args) == 0 {
		s.fail(e, diag.Errorf(diag.Run, "emit", "", "got no values").WithHint("write emit(delay = e.time - s.since)"))
	}
	for _, old := range s.emits {
		if old.call == e {
			for i := range site.kinds {
				if i < len(old.kinds) && site.kinds[i] != kindUnknown {
					old.kinds[i] = site.kinds[i] // more is known now
				}
			}
			return
		}
	}
	s.emits = append(s.emits, site)
}

// fields are those of the new stream: all sites must agree.
func (in *inference) fields() []event.Field {
	if len(in.emits) == 0 {
		return nil
	}
	first := in.emits[0]
	kinds := slices.Clone(first.kinds)
	report := &scan{inference: in}
	for _, site := range in.emits[1:] {
		for _, n := range first.names {
			if !slices.Contains(site.names, n) {
				report.fail(site.call, diag.Errorf(diag.Run, "emit", n, "missing here, but given at %s", syntax.Start(first.call)).
					WithHint("every emit of a fold gives the same names"))
			}
		}
		for i, n := range site.names {
			at := slices.Index(first.names, n)
			if at < 0 {
				report.fail(site.call.Args[i], diag.Errorf(diag.Run, "emit", n, "not given at %s%s", syntax.Start(first.call),
					diag.DidYouMean(n, first.names)).WithHint("every emit of a fold gives the same names"))
				continue
			}
			if k := joinKinds(kinds[at], site.kinds[i]); k == kindMixed {
				report.fail(site.call.Args[i], diag.Errorf(diag.Run, "emit", n, "is a %s here, but a %s at %s",
					site.kinds[i], kinds[at], syntax.Start(first.call)).WithHint("emit values of one kind"))
			} else {
				kinds[at] = k
			}
		}
	}
	fields := make([]event.Field, len(kinds))
	for i, n := range first.names {
		fields[i] = fieldOf(n, kinds[i], i)
	}
	return fields
}
