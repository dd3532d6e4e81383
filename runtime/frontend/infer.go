package frontend

import (
	"slices"

	"ppscript/runtime/diag"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

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
	sp := script.NodeSpan(at)
	for _, e := range s.errs {
		if e.Pos == sp.Pos.String() {
			return
		}
	}
	s.errs = append(s.errs, s.m.host.AtSpan(sp, d))
}
