package frontend

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file and lower_*.go translate script functions to expr IR, which runs
// natively and, from there, in the kernel. Only what is certain to give the
// interpreter's own result is translated: every rule that is not here, and
// every mix of types that the interpreter would refuse at run time, is a
// notLowered, and the function stays interpreted. Values that do not depend on
// the event (options, globals, 10 * ms) are computed while lowering.
//
// First as one expression, which the kernel's filter may be able to take: the
// function is a tree of if and return; a local variable stands for its
// expression, which therefore must not be able to fail (the interpreter would
// fail where it is assigned, the translation where it is used, or never). What
// that refuses is translated statement by statement (lower_stmt.go).

// notLowered says why a function stays interpreted.
type notLowered struct {
	Pos    string // file:line:col
	Reason string
}

func (n *notLowered) Error() string { return n.Pos + ": stays interpreted: " + n.Reason }

// A val is a value while lowering: an event, a constant, or a node.
type val struct {
	ev    *subject
	c     starlark.Value
	node  expr.Node
	unit  event.Unit // Nanos, Moment or SizeB of numbers with a type of their own; else NoUnit
	state bool       // the state of a fold
	list  *stateVar  // a list of it
	// data is what it is in the kernel's memory; node then is nil until it is read.
	data  *expr.KernelData
	unset bool // a variable that has no value, or one of several types
}

// Lower translates the function for events of sc. The node has kind want; Any
// takes what the function returns, Float any number. The error is a *notLowered: the function then is
// interpreted; or says that it cannot be.
func (f *Func) Lower(sc *expr.Scope, want expr.Kind) (node expr.Node, err error) {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return nil, &notLowered{Pos: f.Pos(), Reason: f.Name() + " is a builtin"}
	}
	self := val{ev: subjectOf([]*expr.Scope{sc})}
	l := &lowerer{host: f.t.Host(), sc: sc, budget: maxNodes}
	err = l.try(func() {
		s := l.enter(fn, []val{self}, fn.Position())
		node = s.result(fn.Position(), s.body(want == expr.Bool), want)
	})
	if err == nil || len(l.host.Syntax(fn).Body) < 2 && plainBody(l.host.Syntax(fn)) {
		return node, f.mustCompile(err)
	}
	// Statement by statement; what it refuses is the better reason.
	l = &lowerer{host: f.t.Host(), sc: sc, budget: maxNodes}
	err = l.try(func() {
		s := l.enter(fn, []val{self}, fn.Position())
		_, v := s.newProc(true, want == expr.Bool).whole()
		node = s.result(fn.Position(), v, want)
	})
	return node, f.mustCompile(err)
}

// plainBody reports a function that is one expression.
func plainBody(tree *script.Syntax) bool {
	if tree == nil || len(tree.Body) == 0 {
		return true
	}
	_, ok := tree.Body[0].(*syntax.ReturnStmt)
	return ok
}

// result makes the node of kind want of what the function returns.
func (l *lowerer) result(at syntax.Position, v val, want expr.Kind) expr.Node {
	switch want {
	case expr.Bool:
		return l.truth(at, v)
	case expr.Any:
		return l.measured(at, v)
	case expr.Float:
		n := l.measured(at, v)
		if k := n.Type().Kind; k != expr.Float && !n.Type().Numeric() {
			l.refuse(at, "it returns a %s", n.Type())
		}
		return n
	}
	n := l.nodeOf(at, v)
	if n.Type().Kind != want && !(want == expr.Int && n.Type().Numeric()) {
		l.refuse(at, "it returns a %s", n.Type())
	}
	return n
}

// measured is the node of a value that says what it measures. A size is a
// plain number of bytes, as for FromStarlark.
func (l *lowerer) measured(at syntax.Position, v val) expr.Node {
	n := l.nodeOf(at, v)
	unit := unitOf(v)
	if unit != event.Nanos && unit != event.Moment {
		return n
	}
	if f, ok := n.(*expr.Field); ok && f.F.Unit == unit {
		return n
	}
	q, err := expr.NewQuantity(n, unit)
	l.must(at, err)
	return q
}

// maxNodes bounds the expression that inlining and repeated locals make.
const maxNodes = 2000

// A lowerer makes nodes of values: it knows operators and functions, and not which
// variables there are.
type lowerer struct {
	host    *script.Host
	sc      *expr.Scope
	depth   int
	budget  int
	locals  int      // of the IR, that are taken
	machine *Machine // of the fold whose function this is
}

// A scopeOf is one function being translated: its syntax, statement by statement,
// with its variables.
type scopeOf struct {
	*lowerer
	fn   *starlark.Function
	tree *script.Syntax
	vars map[*syntax.Ident]val
	proc *proc // of a translation by statements
}

func (l *lowerer) refuse(at syntax.Position, format string, args ...any) {
	panic(&notLowered{Pos: at.String(), Reason: fmt.Sprintf(format, args...)})
}

// enter binds the arguments of a call of fn.
func (l *lowerer) enter(fn *starlark.Function, args []val, at syntax.Position) *scopeOf {
	const maxDepth = 16
	tree := l.host.Syntax(fn)
	switch {
	case tree == nil:
		l.refuse(at, "the source of %s is not known", fn.Name())
	case l.depth >= maxDepth:
		l.refuse(at, "calls are nested too deeply")
	case fn.HasVarargs() || fn.HasKwargs() || fn.NumKwonlyParams() > 0 || len(args) > fn.NumParams():
		l.refuse(at, "%s has variable or named parameters", fn.Name())
	}
	s := &scopeOf{lowerer: l, fn: fn, tree: tree, vars: map[*syntax.Ident]val{}}
	for i, p := range tree.Params {
		id := paramIdent(p)
		switch {
		case id == nil:
			l.refuse(at, "%s has unusual parameters", fn.Name())
		case i < len(args):
			s.vars[id] = args[i]
		case fn.ParamDefault(i) != nil:
			s.vars[id] = val{c: fn.ParamDefault(i)}
		default:
			l.refuse(at, "%s misses an argument", fn.Name())
		}
	}
	return s
}

// body is the value that the function returns. With truth, only its truth
// matters.
func (s *scopeOf) body(truth bool) val {
	s.depth++
	defer func() { s.depth-- }()
	return s.stmts(s.tree.Body, truth)
}

func (s *scopeOf) stmts(list []syntax.Stmt, truth bool) val {
	if len(list) == 0 {
		return val{c: starlark.None}
	}
	rest := list[1:]
	switch st := list[0].(type) {
	case *syntax.ReturnStmt:
		if st.Result == nil {
			return val{c: starlark.None}
		}
		if truth {
			return s.condition(st.Result)
		}
		return s.expr(st.Result)
	case *syntax.ExprStmt:
		if _, doc := st.X.(*syntax.Literal); doc {
			return s.stmts(rest, truth)
		}
	case *syntax.BranchStmt:
		if st.Token == syntax.PASS {
			return s.stmts(rest, truth)
		}
	case *syntax.AssignStmt:
		id, ok := st.LHS.(*syntax.Ident)
		if !ok || st.Op != syntax.EQ {
			s.refuse(st.OpPos, "only name = value can be assigned")
		}
		v := s.expr(st.RHS)
		if v.node != nil && (mayFail(v.node) || s.machine != nil && !stable(v.node)) {
			s.refuse(st.OpPos, "%s is assigned what may fail", id.Name)
		}
		if firstOf(id) == nil {
			s.refuse(st.OpPos, "%s is not a local variable", id.Name)
		}
		s.vars[firstOf(id)] = v
		return s.stmts(rest, truth)
	case *syntax.IfStmt:
		test := s.condition(st.Cond)
		if test.c != nil {
			if test.c.Truth() {
				return s.stmts(join(st.True, rest), truth)
			}
			return s.stmts(join(st.False, rest), truth)
		}
		saved := s.copyVars()
		a := s.stmts(join(st.True, rest), truth)
		s.vars = saved
		b := s.stmts(join(st.False, rest), truth)
		return s.choose(st.If, test, a, b, truth)
	}
	start, _ := list[0].Span()
	s.refuse(start, "this statement cannot be translated")
	return val{}
}

func join(a, b []syntax.Stmt) []syntax.Stmt { return append(a[:len(a):len(a)], b...) }

func (s *scopeOf) copyVars() map[*syntax.Ident]val {
	m := make(map[*syntax.Ident]val, len(s.vars))
	for k, v := range s.vars {
		m[k] = v
	}
	return m
}

// mayFailOf returns the nodes of a list whose evaluation can fail.
func mayFailOf(list []expr.Node) (some []expr.Node) {
	for _, n := range list {
		if mayFail(n) {
			some = append(some, n)
		}
	}
	return some
}

// mayFail reports that evaluating n can set Frame.Err other than for a
// damaged record.
func mayFail(n expr.Node) bool {
	fails := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Field:
			fails = fails || n.F.Read != nil
		case *expr.Binary:
			fails = fails || n.Op >= expr.OpAddC && n.Op <= expr.OpNotC || n.Op == expr.OpFDiv
		case *expr.Unary:
			fails = fails || n.Op >= expr.OpAddC && n.Op <= expr.OpNotC || n.Op == expr.OpUnsigned
		case *expr.Native, *expr.LoadElem:
			fails = true
		case *expr.TextOp:
			fails = fails || n.MayFail()
		}
		return !fails
	})
	return fails
}
