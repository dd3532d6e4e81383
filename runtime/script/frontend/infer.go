package frontend

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file walks the functions that run per event, in the order of the text
// and through all branches, and infers facts about them before the first event:
//
//   - the kind of each value, so what a function returns, and of a fold what
//     its state keeps and what it emits: state = {"since": 0} means a time if
//     the function assigns one;
//   - which expressions are the event, or a half of a pair, and which fields
//     of it are read (reads.go) that none of the events has (subject.go).
//
// It follows the event through assignments and into calls of the script's own
// functions. If it cannot infer a kind, the kind is kindUnknown and the value
// is checked when the script runs. It reports only errors that are certain.

// A role has the inferred facts about the value of an expression.
type role struct {
	kind  Kind
	c     starlark.Value // value of a constant
	state bool           // it is the state of the fold
	weak  bool           // it is a member of the state that is 0 so far, so its unit is unknown
	ev    *subject       // the event that it is; nil for other values
	list  *stateVar      // the list of the state that it is; nil for other values
	items []role         // elements of a list or tuple display
	tuple bool           // items are of a tuple
	// sample is an example of its value if it has no Kind of its own: a list, a dict, a
	// function.
	sample starlark.Value
	// unsure says that the value may also have another, unknown kind on some path.
	unsure bool
	// data is its place in the kernel's memory, or pointer the field that points to
	// one; else nil.
	data    *expr.KernelData
	pointer *event.Field
	from    []expr.Node // nodes of its values, see origin
}

// inMemory reports that the value is in the kernel's memory or points there, so
// that it has members.
func (r *role) inMemory() bool { return r.data != nil || r.pointer != nil }

// An inference collects the facts from the walks through a fold's functions, or
// through one function.
type inference struct {
	m       *Machine
	emits   []*emitSite
	learns  bool // this walk may change kinds of the state
	changed bool // some kind of the state has changed
	active  []*starlark.Function
	errs    []*diag.Error // errors about the state and emitted values

	checked  map[param]*subject // the event with which a function's fields are checked
	unknowns []*diag.Error      // errors about fields
	names    map[string]bool    // attributes that are read
	memory   string             // an expression that reads the kernel's memory; "" if there is none
	escaped  bool               // the event was passed where it cannot be followed
	schema   *event.Schema      // schema of the event, or of the first possible one; nil if unknown
	// passing counts the current preliminary walks, in which not all variables have their
	// kinds yet.
	passing int
	byName  map[*syntax.BinaryExpr]role // roles of named arguments
}

// A param is a parameter of a function.
type param struct {
	pos   syntax.Position
	index int
}

// scan is the walk through one function with one set of arguments.
type scan struct {
	*inference
	fn       *starlark.Function
	vars     map[*syntax.Ident]role
	assigned map[*syntax.Ident]int
	ret      role
	returned bool // ret comes from a statement return
	apart    int  // depth of nested functions, and of functions whose kinds are not followed
}

// function walks fn and returns the kind of its result. whole says that args
// are all arguments, so that other parameters have their defaults.
func (in *inference) function(fn *starlark.Function, args []role, whole bool) Kind {
	return in.enter(fn, args, whole, 0).kind
}

// returns reports that statements return a value on every path.
func returns(body []syntax.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	switch st := body[len(body)-1].(type) {
	case *syntax.ReturnStmt:
		return st.Result != nil
	case *syntax.IfStmt:
		return returns(st.True) && returns(st.False)
	}
	return false
}

// doubtful reports that some value may have an unknown kind.
func doubtful(list ...role) bool {
	return slices.ContainsFunc(list, func(r role) bool { return r.unsure || r.kind == kindUnknown })
}

func (in *inference) enter(fn *starlark.Function, args []role, whole bool, apart int) role {
	tree := in.m.host.Syntax(fn)
	if tree == nil || slices.Contains(in.active, fn) || len(in.active) > 16 {
		in.lose(args)
		return role{}
	}
	in.active = append(in.active, fn)
	defer func() { in.active = in.active[:len(in.active)-1] }()

	s := &scan{
		inference: in,
		fn:        fn,
		vars:      map[*syntax.Ident]role{},
		assigned:  assignments(tree.Node),
		apart:     apart,
	}
	for i, p := range tree.Params {
		id := paramIdent(p)
		switch {
		case id == nil:
			in.lose(args[min(i, len(args)):min(i+1, len(args))])
		case i < len(args):
			s.vars[id] = s.argument(fn, i, id, args[i])
		case whole && i < fn.NumParams() && fn.ParamDefault(i) != nil:
			s.vars[id] = role{kind: kindOf(fn.ParamDefault(i)), c: fn.ParamDefault(i)}
		}
	}
	in.lose(args[min(len(tree.Params), len(args)):])

	// Walk twice: in a loop, a variable may be used above its last assignment.
	for pass := range 2 {
		s.ret, s.returned = role{unsure: !returns(tree.Body)}, false
		s.passing += 1 - pass
		s.block(tree.Body)
		s.passing -= 1 - pass
	}
	return s.ret
}

// argument returns the role of a parameter. Errors about fields are reported
// only for the event of the first call, since a function that is called for
// several kinds of events may test which one it has.
func (s *scan) argument(fn *starlark.Function, i int, id *syntax.Ident, r role) role {
	if r.ev == nil {
		return r
	}
	if s.assigned[id] > 0 { // the variable is not always the event
		s.assigned[id]++
		s.escaped = true
		r.ev = r.ev.muted()
	}
	key := param{fn.Position(), i}
	if s.checked == nil {
		s.checked = map[param]*subject{}
	}
	switch first := s.checked[key]; {
	case first == nil:
		s.checked[key] = r.ev
	case !first.same(r.ev):
		r.ev = r.ev.muted()
	}
	return r
}

// lose records that some values were passed where they cannot be followed.
func (in *inference) lose(list []role) {
	for _, r := range list {
		in.escaped = in.escaped || r.ev != nil
	}
}

func (s *scan) block(list []syntax.Stmt) {
	for _, st := range list {
		switch st := st.(type) {
		case *syntax.AssignStmt:
			s.assign(st)
		case *syntax.ExprStmt:
			s.value(st.X)
		case *syntax.IfStmt:
			s.value(st.Cond)
			s.block(st.True)
			s.block(st.False)
		case *syntax.ForStmt:
			if call, list := s.listCall(st.X); list != nil {
				s.bind(st.Vars, s.kernelList(call, list))
			} else {
				s.bind(st.Vars, role{kind: s.member(st.X)})
			}
			s.block(st.Body)
		case *syntax.WhileStmt:
			s.value(st.Cond)
			s.block(st.Body)
		case *syntax.ReturnStmt:
			if st.Result != nil {
				r := s.value(st.Result)
				if r.unsure = s.ret.unsure || doubtful(r); s.returned {
					r = role{kind: joinKinds(s.ret.kind, r.kind), unsure: r.unsure,
						from: origins(s.ret.origin(), r.origin())}
				}
				s.ret, s.returned = r, true
			}
		case *syntax.DefStmt:
			s.nested(st.Params, func() { s.block(st.Body) })
			s.bind(st.Name, role{kind: kindOther, sample: someFunction})
		}
	}
}

// nested walks a function inside the function, which may read the event. Its
// returns, emits and assignments do not count, since it may never be called.
func (s *scan) nested(params []syntax.Expr, body func()) {
	ret, returned := s.ret, s.returned
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			s.value(b.Y)
		}
	}
	s.apart++
	body()
	s.apart--
	s.ret, s.returned = ret, returned
}

// member returns the role of the elements of e in a loop.
func (s *scan) member(e syntax.Expr) Kind {
	r := s.value(e)
	if call, ok := e.(*syntax.CallExpr); ok {
		if id, ok := call.Fn.(*syntax.Ident); ok && id.Name == "range" {
			return kindInt
		}
	}
	if r.list != nil {
		return r.list.kind
	}
	s.iterated(e, r)
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
			s.lose([]role{r})
			return
		}
		if r.ev != nil && s.assigned[id] != 1 { // the variable is not always this event
			s.escaped = true
			r.ev = r.ev.muted()
		}
		if old, ok := s.vars[id]; ok && old.list != nil && old.list == r.list {
			return
		} else if ok && old.data != nil && r.data != nil && old.data.Type.String() == r.data.Type.String() {
			// It stays a pointer to the same type.
		} else if ok && !(old.state || old.ev != nil) {
			unsure := doubtful(old, r) || old.inMemory() || r.inMemory()
			r = role{kind: joinKinds(old.kind, r.kind), unsure: unsure,
				from: origins(old.origin(), r.origin())}
		} else if ok && (r.state || r.ev != nil) {
			return
		}
		s.vars[id] = r
	case *syntax.ParenExpr:
		s.bind(lhs.X, r)
	case *syntax.TupleExpr:
		s.lose([]role{r})
		for _, x := range lhs.List {
			s.bind(x, role{})
		}
	case *syntax.DotExpr:
		s.lose([]role{r})
		if base := s.expr(lhs.X); base.state {
			s.store(lhs, r)
		} else {
			s.attr(lhs, base)
		}
	case *syntax.IndexExpr:
		s.lose([]role{r})
		x, index := s.value(lhs.X), s.value(lhs.Y)
		if x.list != nil && s.apart == 0 {
			s.indexed(lhs.Y, x.list, index)
			s.storeOne(lhs, x.list, r)
		}
	default:
		s.lose([]role{r})
		s.value(lhs)
	}
}

func (s *scan) assign(st *syntax.AssignStmt) {
	if st.Op != syntax.EQ {
		r, old, op := s.value(st.RHS), s.value(st.LHS), st.Op-syntax.PLUS_EQ+syntax.PLUS
		s.operated(st, op, old, r)
		s.bind(st.LHS, role{kind: arithRoles(op, old, r), unsure: doubtful(old, r),
			from: computedFrom(op, old, r)})
		return
	}
	l, many := st.LHS.(*syntax.TupleExpr)
	t, each := st.RHS.(*syntax.TupleExpr)
	if !many || !each || len(t.List) != len(l.List) {
		s.bind(st.LHS, s.expr(st.RHS))
		return
	}
	var values []role
	for _, x := range t.List {
		values = append(values, s.expr(x))
	}
	for i := range l.List {
		s.bind(l.List[i], values[i])
	}
}

// store records that a value is assigned to a member of the state.
func (s *scan) store(at *syntax.DotExpr, r role) {
	v := s.m.find(at.Name.Name)
	switch {
	case s.apart > 0:
		return
	case v == nil:
		s.fail(at.Name, diag.Errorf(diag.Run, "fold", "state", "no member %s%s", at.Name.Name,
			diag.DidYouMean(at.Name.Name, s.m.names())).WithHint("declare it: state = {%q: 0}", at.Name.Name))
		return
	}
	if v.list != nil {
		s.storeAll(at.Name, v, r)
		return
	}
	s.storeOne(at.Name, v, r)
}

// storeOne records the kind of a value for a member, or for the elements of a
// list.
func (s *scan) storeOne(at syntax.Node, v *stateVar, r role) {
	if from := origins(v.from, r.origin()); s.learns && len(from) > len(v.from) {
		v.from, s.changed = from, true
	}
	if isZero(r.c) && v.kind.number() && v.kind != kindBool {
		return // assigning 0 unsets the member
	}
	k := v.kind
	switch {
	case r.kind == kindUnknown || r.kind == kindMixed || r.kind == k:
		return
	case v.weak && k == kindInt &&
		(r.kind == kindNanos || r.kind == kindMoment || r.kind == kindSize || r.kind == kindUint):
		k = r.kind
	case k == kindInt && r.kind == kindUint, k == kindUint && r.kind == kindInt:
		k = kindUint
	default:
		s.fail(at, diag.Errorf(diag.Run, "fold", "state "+v.name,
			"is a %s and is assigned a %s", k, r.kind).
			WithHint("give it one kind; what is unset is 0, \"\" or False"))
		return
	}
	if k != v.kind && s.learns {
		v.kind, v.value, s.changed = k, nil, true
	}
}

// isZero reports a constant 0, which unsets any number of a state.
func isZero(c starlark.Value) bool {
	i, ok := c.(starlark.Int)
	return ok && i.Sign() == 0
}

func (s *scan) fail(at syntax.Node, d *diag.Error) {
	if s.apart > 0 {
		return
	}
	sp := script.NodeSpan(at)
	for _, e := range s.errs {
		if e.Pos == sp.Pos.String() {
			return
		}
	}
	s.errs = append(s.errs, s.m.host.AtSpan(sp, d))
}

// joined returns the first of some errors, with the others in its excerpt; nil
// if there are none.
func joined(errs []*diag.Error) error {
	if len(errs) == 0 {
		return nil
	}
	first := errs[0]
	for _, e := range errs[1:] {
		first.Excerpt += "\n" + e.Error() + "\n" + e.Excerpt
	}
	return first
}
