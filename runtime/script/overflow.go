package script

import (
	"fmt"
	"slices"

	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file gives the interpreter the integers of the other engines. Starlark's
// integers have no bounds; in native code and in the kernel they have 64 bits,
// and a result that does not fit is an error. So that a function does not
// succeed in one engine and fail in another, per-event functions that stay
// interpreted run as a copy with checked arithmetic: x + y becomes a call that
// adds and fails if the sum does not fit.
//
// compare.go has the comparisons. A checked operator costs about 50 ns. The copy is compiled from
// the function's own text, with its positions.

// CheckedFn returns the checked copy of fn; fn itself if it needs no check.
func (h *Host) CheckedFn(fn starlark.Callable) starlark.Callable {
	f, ok := fn.(*starlark.Function)
	if !ok {
		return fn
	}
	if c, ok := h.checked[f]; ok {
		return c
	}
	if h.checked == nil {
		h.checked = map[*starlark.Function]starlark.Callable{}
	}
	h.checked[f] = f // used while the copy is made, and if nothing has to be checked
	if c := h.checkedCopy(f); c != nil {
		h.checked[f] = c
	}
	return h.checked[f]
}

// checkedCopy returns the checked copy; nil if fn has nothing to check, or
// cannot be copied since its text is unknown.
func (h *Host) checkedCopy(fn *starlark.Function) starlark.Callable {
	tree := h.Syntax(fn)
	if tree == nil {
		return nil
	}
	env := starlark.StringDict{}
	need := false
	syntax.Walk(tree.Node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			v := h.ValueOf(fn, n)
			if v == nil {
				return true
			}
			if g, ok := v.(*starlark.Function); ok {
				c := h.CheckedFn(g)
				need = need || c != starlark.Callable(g)
				v = c
			}
			env[n.Name] = h.GuardOf(n.Name, v)
		case *syntax.BinaryExpr:
			need = need || (arithmetic[n.Op] != nil || comparisons[n.Op] != nil) && !IsNumber(n)
		case *syntax.UnaryExpr:
			need = need || negations[n.Op] != nil && !IsNumber(n)
		case *syntax.AssignStmt:
			need = need || n.Op != syntax.EQ
		}
		return true
	})
	if !need {
		return nil
	}
	copied, err := h.recompile(fn, tree, env)
	if err != nil {
		return nil // cannot happen: the function was valid before
	}
	return copied
}

// recompile compiles fn again from its text, with checked arithmetic.
func (h *Host) recompile(fn *starlark.Function, tree *Syntax,
	env starlark.StringDict) (starlark.Callable, error) {
	name := fn.Position().Filename()
	src := h.texts.source(name)
	file, err := dialect().Parse(name, src.text, 0)
	if err != nil {
		return nil, err
	}
	node := find(file, tree.Pos)
	r := rewriter{env: env}
	var st syntax.Stmt
	result := fn.Name()
	switch n := node.(type) {
	case *syntax.DefStmt:
		n.Params = r.params(n.Params, fn)
		n.Body = r.stmts(n.Body)
		st = n
	case *syntax.LambdaExpr:
		n.Params = r.params(n.Params, fn)
		n.Body = r.expr(n.Body)
		result = "lambda"
		st = &syntax.AssignStmt{
			OpPos: n.Lambda, Op: syntax.EQ, LHS: &syntax.Ident{NamePos: n.Lambda, Name: result}, RHS: n,
		}
	default:
		return nil, fmt.Errorf("no function at %s", tree.Pos)
	}
	delete(env, result) // the text defines it
	for name, g := range h.guards {
		if isGuard(name) {
			env[name] = g
		}
	}
	for op, b := range arithmetic {
		env[opName(op)] = b
	}
	for op, b := range negations {
		env["unary "+opName(op)] = b
	}
	for op, b := range comparisons {
		env[opName(op)] = b
	}
	prog, err := starlark.FileProgram(&syntax.File{Path: name, Stmts: []syntax.Stmt{st}, Options: dialect()},
		env.Has)
	if err != nil {
		return nil, err
	}
	globals, err := prog.Init(h.newThread(name, h.opts.Limits.Steps).Thread, env)
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	c, ok := globals[result].(*starlark.Function)
	if !ok {
		return nil, fmt.Errorf("%s is no function", result)
	}
	return c, nil
}

// find returns the function at position pos.
func find(file *syntax.File, pos syntax.Position) (found syntax.Node) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			if samePlace(n.Def, pos) {
				found = n
			}
		case *syntax.LambdaExpr:
			if samePlace(n.Lambda, pos) {
				found = n
			}
		}
		return found == nil
	})
	return found
}

func samePlace(a, b syntax.Position) bool { return a.Line == b.Line && a.Col == b.Col }

func opName(op syntax.Token) string { return "operator " + op.String() }

// IsNumber reports an expression of number literals only, such as 1 << 63. It
// is treated like a literal, and is not checked.
func IsNumber(e syntax.Expr) bool {
	switch e := Unparen(e).(type) {
	case *syntax.Literal:
		return e.Token != syntax.STRING && e.Token != syntax.BYTES
	case *syntax.UnaryExpr:
		return e.X != nil && IsNumber(e.X)
	case *syntax.BinaryExpr:
		return e.Op != syntax.EQ && IsNumber(e.X) && IsNumber(e.Y)
	}
	return false
}

// IsArithmetic reports that an operator is checked.
func IsArithmetic(op syntax.Token) bool { return arithmetic[op] != nil }

// arithmetic has the checked binary operators, negations the checked unary
// ones.
var arithmetic, negations = func() (two, one map[syntax.Token]*starlark.Builtin) {
	two, one = map[syntax.Token]*starlark.Builtin{}, map[syntax.Token]*starlark.Builtin{}
	for _, op := range []syntax.Token{syntax.PLUS, syntax.MINUS, syntax.STAR,
		syntax.SLASHSLASH, syntax.PERCENT,
		syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT} {
		two[op] = starlark.NewBuiltin(opName(op),
			func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
				_ []starlark.Tuple) (starlark.Value, error) {
				return CheckedBinary(op, args[0], args[1])
			})
	}
	for _, op := range []syntax.Token{syntax.MINUS, syntax.TILDE} {
		one[op] = starlark.NewBuiltin(opName(op),
			func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
				_ []starlark.Tuple) (starlark.Value, error) {
				v, err := starlark.Unary(op, args[0])
				if err != nil {
					return nil, err
				}
				return Fits(v, args[0], nil)
			})
	}
	return two, one
}()

// CheckedBinary computes x op y by the rules of per-event functions.
func CheckedBinary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	// Starlark has other limits on shifts.
	if op == syntax.LTLT || op == syntax.GTGT {
		a, ok := x.(starlark.Int)
		n, isInt := y.(starlark.Int)
		if ok && isInt && n.Sign() < 0 {
			return nil, expr.ErrShift
		}
		if k, small := n.Int64(); ok && isInt && n.Sign() > 0 && (!small || k > 63) {
			switch {
			case op == syntax.LTLT && a.Sign() != 0:
				return nil, expr.ErrOverflow
			case a.Sign() < 0:
				return starlark.MakeInt(-1), nil
			}
			return starlark.MakeInt(0), nil
		}
	}
	v, err := boundedBinary(op, x, y)
	if err != nil {
		return nil, err
	}
	return Fits(v, x, y)
}

// Fits checks that an integer result fits in 64 bits: signed, or unsigned if an
// operand needed that already.
func Fits(v, x, y starlark.Value) (starlark.Value, error) {
	i, ok := v.(starlark.Int)
	if !ok {
		return v, nil
	}
	if _, ok := i.Int64(); ok {
		return v, nil
	}
	if _, ok := i.Uint64(); ok && (isUint(x) || isUint(y)) {
		return v, nil
	}
	return nil, expr.ErrOverflow
}

// isUint reports an integer that fits in 64 bits only without a sign.
func isUint(v starlark.Value) bool {
	i, ok := v.(starlark.Int)
	if !ok {
		return false
	}
	_, signed := i.Int64()
	_, unsigned := i.Uint64()
	return unsigned && !signed
}

// A rewriter replaces operators by calls: with guard, the operators with
// possibly large results (guard.go); else all arithmetic.
type rewriter struct {
	env   starlark.StringDict
	guard bool
}

// params replaces defaults by their values: evaluating them again would need
// names that the function does not capture.
func (r *rewriter) params(list []syntax.Expr, fn *starlark.Function) []syntax.Expr {
	for i, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok && i < fn.NumParams() && fn.ParamDefault(i) != nil {
			name := fmt.Sprintf("default %d", i)
			r.env[name] = fn.ParamDefault(i)
			b.Y = &syntax.Ident{NamePos: b.OpPos, Name: name}
		}
	}
	return list
}

func (r *rewriter) call(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

func (r *rewriter) stmts(list []syntax.Stmt) []syntax.Stmt {
	for _, st := range list {
		switch st := st.(type) {
		case *syntax.AssignStmt:
			r.assign(st)
		case *syntax.ExprStmt:
			st.X = r.expr(st.X)
		case *syntax.IfStmt:
			st.Cond, st.True, st.False = r.expr(st.Cond), r.stmts(st.True), r.stmts(st.False)
		case *syntax.ForStmt:
			st.X, st.Body = r.expr(st.X), r.stmts(st.Body)
		case *syntax.WhileStmt:
			st.Cond, st.Body = r.expr(st.Cond), r.stmts(st.Body)
		case *syntax.ReturnStmt:
			if st.Result != nil {
				st.Result = r.expr(st.Result)
			}
		case *syntax.DefStmt:
			if r.guard {
				r.defaults(st.Params)
			}
			st.Body = r.stmts(st.Body)
		}
	}
	return list
}

// assign rewrites x += y to x = x + y, if evaluating x twice has no effect. For
// lists it is not rewritten, since += changes them in place.
func (r *rewriter) assign(st *syntax.AssignStmt) {
	st.LHS = r.target(st.LHS)
	st.RHS = r.expr(st.RHS)
	if r.guard {
		r.guardAssign(st)
		return
	}
	op := st.Op - syntax.PLUS_EQ + syntax.PLUS
	if st.Op == syntax.EQ || arithmetic[op] == nil {
		return
	}
	var again syntax.Expr
	switch l := Unparen(st.LHS).(type) {
	case *syntax.Ident:
		again = &syntax.Ident{NamePos: l.NamePos, Name: l.Name}
	case *syntax.DotExpr:
		id, ok := l.X.(*syntax.Ident)
		if !ok {
			return
		}
		again = &syntax.DotExpr{X: &syntax.Ident{NamePos: id.NamePos, Name: id.Name}, Dot: l.Dot,
			NamePos: l.NamePos,
			Name:    &syntax.Ident{NamePos: l.Name.NamePos, Name: l.Name.Name}}
	default:
		return
	}
	name := opName(op)
	if op == syntax.PLUS || op == syntax.PIPE {
		name = inPlace(op)
		r.env[name] = inPlaceOps[op]
	}
	st.RHS = r.call(name, st.OpPos, again, st.RHS)
	st.Op = syntax.EQ
}

func inPlace(op syntax.Token) string { return opName(op) + "=" }

// inPlaceOps are += and |=, which change lists and dicts in place.
var inPlaceOps = map[syntax.Token]*starlark.Builtin{
	syntax.PLUS: starlark.NewBuiltin("operator +=",
		func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			_ []starlark.Tuple) (starlark.Value, error) {
			list, ok := args[0].(*starlark.List)
			more, iter := args[1].(starlark.Iterable)
			if !ok || !iter {
				return CheckedBinary(syntax.PLUS, args[0], args[1])
			}
			if err := boundedLen(more); err != nil {
				return nil, err
			}
			for _, v := range slices.Collect(starlark.Elements(more)) {
				if err := list.Append(v); err != nil {
					return nil, err
				}
			}
			return list, nil
		}),
	syntax.PIPE: starlark.NewBuiltin("operator |=",
		func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			_ []starlark.Tuple) (starlark.Value, error) {
			d, ok := args[0].(*starlark.Dict)
			more, dict := args[1].(*starlark.Dict)
			if !ok || !dict {
				return CheckedBinary(syntax.PIPE, args[0], args[1])
			}
			for _, kv := range more.Items() {
				if err := d.SetKey(kv[0], kv[1]); err != nil {
					return nil, err
				}
			}
			return d, nil
		}),
}

// target rewrites the expressions inside an assignment's target: x[f()].
func (r *rewriter) target(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.IndexExpr:
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
	case *syntax.DotExpr:
		e.X = r.expr(e.X)
	case *syntax.ParenExpr:
		e.X = r.target(e.X)
	}
	return e
}

// defaults rewrites the defaults of parameters.
func (r *rewriter) defaults(params []syntax.Expr) {
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = r.expr(b.Y)
		}
	}
}

func (r *rewriter) exprs(list []syntax.Expr) {
	for i, e := range list {
		list[i] = r.expr(e)
	}
}

func (r *rewriter) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = r.expr(e.X)
	case *syntax.BinaryExpr:
		if e.Op == syntax.EQ { // a named argument
			e.Y = r.expr(e.Y)
			return e
		}
		if IsNumber(e) {
			return e
		}
		guard := r.guard && needsGuard(e)
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
		switch {
		case guard:
			return r.call(guardName(e.Op), e.OpPos, e.X, e.Y)
		case !r.guard && (arithmetic[e.Op] != nil || comparisons[e.Op] != nil):
			return r.call(opName(e.Op), e.OpPos, e.X, e.Y)
		}
	case *syntax.UnaryExpr:
		if e.X == nil || IsNumber(e) {
			return e
		}
		e.X = r.expr(e.X)
		if negations[e.Op] != nil && !r.guard {
			return r.call("unary "+opName(e.Op), e.OpPos, e.X)
		}
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = r.expr(e.Cond), r.expr(e.True), r.expr(e.False)
	case *syntax.CallExpr:
		e.Fn = r.expr(e.Fn)
		r.guardArgs(e)
		r.exprs(e.Args)
	case *syntax.DotExpr:
		e.X = r.expr(e.X)
		return r.guardDot(e)
	case *syntax.IndexExpr:
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
	case *syntax.SliceExpr:
		e.X = r.expr(e.X)
		for _, b := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
			if *b != nil {
				*b = r.expr(*b)
			}
		}
	case *syntax.TupleExpr:
		r.exprs(e.List)
	case *syntax.ListExpr:
		r.exprs(e.List)
	case *syntax.DictExpr:
		r.exprs(e.List)
	case *syntax.DictEntry:
		e.Key, e.Value = r.expr(e.Key), r.expr(e.Value)
	case *syntax.LambdaExpr:
		if r.guard {
			r.defaults(e.Params)
		}
		e.Body = r.expr(e.Body)
	case *syntax.Comprehension:
		e.Body = r.expr(e.Body)
		for _, c := range e.Clauses {
			switch c := c.(type) {
			case *syntax.ForClause:
				c.X = r.expr(c.X)
			case *syntax.IfClause:
				c.Cond = r.expr(c.Cond)
			}
		}
	}
	return e
}
