package frontend

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file and lower_*.go translate functions of scripts to the IR of package
// expr, which runs natively or is compiled further to programs of the kernel. A
// function is translated only if the result is certainly the interpreter's. A
// construct without a rule here, or a mix of types that the interpreter would
// refuse at run time, gives a notLowered, and the function stays interpreted.
// Values that do not depend on the event (options, globals, 10 * ms) are
// computed while lowering.
//
// A function is first translated as one expression, which the kernel's filter
// may be able to evaluate. For that it must be a tree of if and return. A local
// variable stands for its expression, which must therefore not be able to fail:
// the interpreter would fail at the assignment, the translation at the use, or
// never. If this is not possible, the function is translated statement by
// statement (lower_stmt.go).

// notLowered is the reason why a function stays interpreted.
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
	state bool       // it is the state of the fold
	list  *stateVar  // the list of the state that it is; nil for other values
	// data is its place in the kernel's memory; node is then nil until the value is
	// read.
	data  *expr.KernelData
	unset bool // it is a variable without a value, or with values of different types
}

// Lower translates the function for events of sc. The node has kind want; with Any it has the kind
// of the function's result, with Float any number is accepted. The error is a *notLowered if the
// function stays interpreted, else the function cannot run at all.
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
	// Now statement by statement; the reason from this way is the better one.
	l = &lowerer{host: f.t.Host(), sc: sc, budget: maxNodes}
	err = l.try(func() {
		s := l.enter(fn, []val{self}, fn.Position())
		_, v := s.newProc(true, want == expr.Bool).whole()
		node = s.result(fn.Position(), v, want)
	})
	return node, f.mustCompile(err)
}

// plainBody reports that a function is one expression.
func plainBody(tree *script.Syntax) bool {
	if tree == nil || len(tree.Body) == 0 {
		return true
	}
	_, ok := tree.Body[0].(*syntax.ReturnStmt)
	return ok
}

// result converts the result of the function to a node of kind want.
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

// measured returns the node of a value with its unit. A size becomes a plain
// number of bytes, as in FromStarlark.
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

// maxNodes bounds the size of an expression, which inlining and repeated
// variables can make large.
const maxNodes = 2000

// A lowerer translates operators and calls of functions; variables are handled by
// scopeOf.
type lowerer struct {
	host    *script.Host
	sc      *expr.Scope
	depth   int
	budget  int
	locals  int      // number of local variables of the IR so far
	machine *Machine // the fold of the function; nil for other functions
}

// A scopeOf is one function during its translation: its syntax and its variables.
type scopeOf struct {
	*lowerer
	fn   *starlark.Function
	tree *script.Syntax
	vars map[*syntax.Ident]val
	proc *proc // in a translation by statements; else nil
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

// body returns the value of the function's result. truth says that only its
// truth matters.
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

// mayFailOf returns the nodes of values whose evaluation can fail.
func mayFailOf(list []expr.Node) (some []expr.Node) {
	for _, n := range list {
		if mayFail(n) {
			some = append(some, n)
		}
	}
	return some
}

// mayFail reports that evaluating n can set Frame.Err for other reasons than a
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
