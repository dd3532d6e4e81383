package script

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file rewrites scripts so that the size of a result is checked before it
// is made (bounds.go): x * y becomes a call that looks at x and y first, s.join
// becomes a call that gives a checked method, and the operands of += and of
// calls with *args are looked at. The tree that checks and lowering read stays
// as it was written; the rewritten code is parsed once more, with the same
// positions.

// Names of the functions that rewritten code calls. No script can write them.
const (
	guardMethod   = "guard method"
	guardOperand  = "guard operand"
	guardElements = "guard elements"
	guardTexts    = "guard texts"
)

// guardedOps are the operators that are asked.
var guardedOps = []syntax.Token{syntax.PLUS, syntax.STAR, syntax.PERCENT, syntax.LTLT}

// guards are the names that guarded code uses, beside the predeclared ones.
func guards() starlark.StringDict {
	d := universal()
	for _, op := range guardedOps {
		d[guardName(op)] = builtin(guardName(op), func(args starlark.Tuple) (starlark.Value, error) {
			return boundedBinary(op, args[0], args[1])
		})
	}
	d[guardMethod] = builtin(guardMethod, func(args starlark.Tuple) (starlark.Value, error) {
		return AskedMethod(args[0]), nil
	})
	d[guardOperand] = builtin(guardOperand, func(args starlark.Tuple) (starlark.Value, error) {
		return operand{args[0]}, nil
	})
	d[guardElements] = builtin(guardElements, func(args starlark.Tuple) (starlark.Value, error) {
		return args[0], boundedLen(args[0])
	})
	d[guardTexts] = builtin(guardTexts, func(args starlark.Tuple) (starlark.Value, error) {
		return args[0], boundedFormat(strings.Repeat("%", 1000), '%', args)
	})
	d.Freeze()
	return d
}

func builtin(name string, f func(args starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin(name,
		func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			_ []starlark.Tuple) (starlark.Value, error) {
			return f(args)
		})
}

func guardName(op syntax.Token) string { return "guard " + op.String() }

func boundedBinary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := bounded(op, x, y); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// An operand is the right side of x *= y: the interpreter asks it, since x does
// not know its type. So x is evaluated once, also if it is a call.
type operand struct{ starlark.Value }

var _ starlark.HasBinary = operand{}

// Binary implements starlark.HasBinary.
func (o operand) Binary(op syntax.Token, x starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side == starlark.Left {
		return boundedBinary(op, o.Value, x)
	}
	return boundedBinary(op, x, o.Value)
}

// isGuard reports a name that only rewritten code uses.
func isGuard(name string) bool { return len(name) > 6 && name[:6] == "guard " }

// guarded is a file's tree as it is compiled. text has been parsed before.
func guarded(name, text string, opts *syntax.FileOptions) (*syntax.File, error) {
	tree, err := opts.Parse(name, text, 0)
	if err != nil {
		return nil, err
	}
	r := rewriter{guard: true}
	tree.Stmts = r.stmts(tree.Stmts)
	return tree, nil
}

// program resolves a file's tree, which stays as it is, and compiles its
// guarded copy.
func (h *Host) program(name, text string, tree *syntax.File) (*starlark.Program, error) {
	if err := resolve.File(tree, h.opts.Predeclared.Has, starlark.Universe.Has); err != nil {
		return nil, err
	}
	copied, err := guarded(name, text, dialect())
	if err != nil {
		return nil, err
	}
	return starlark.FileProgram(copied, h.names.Has)
}

// withGuards are the names that code sees, with those that guarded code uses.
func withGuards(names, guards starlark.StringDict) starlark.StringDict {
	all := maps.Clone(guards)
	maps.Copy(all, names)
	return all
}

// GuardOf is the asked form of one of Starlark's functions; v if it has none.
func (h *Host) GuardOf(name string, v starlark.Value) starlark.Value {
	if g, ok := h.guards[name]; ok && starlark.Universe[name] == v {
		return g
	}
	return v
}

// guardAssign guards the growth of x in x op= y.
func (r *rewriter) guardAssign(st *syntax.AssignStmt) {
	if IsNumber(st.RHS) && st.Op != syntax.STAR_EQ && st.Op != syntax.LTLT_EQ {
		return
	}
	switch st.Op {
	case syntax.STAR_EQ:
		st.RHS = r.call(guardOperand, st.OpPos, st.RHS)
	case syntax.LTLT_EQ:
		// Shifts do not ask their operand; elsewhere they stay as they are, and
		// grow by 511 bits at a time.
		if id, ok := Unparen(st.LHS).(*syntax.Ident); ok {
			again := &syntax.Ident{NamePos: id.NamePos, Name: id.Name}
			st.Op, st.RHS = syntax.EQ, r.call(guardName(syntax.LTLT), st.OpPos, again, st.RHS)
		}
	case syntax.PERCENT_EQ:
		st.RHS = r.call(guardTexts, st.OpPos, st.RHS)
	case syntax.PLUS_EQ, syntax.PIPE_EQ:
		st.RHS = r.call(guardElements, st.OpPos, st.RHS)
	}
}

// needsGuard reports that x op y may be large: with a number written out on a
// side, sums are numbers, and the result of % is as long as its template.
func needsGuard(e *syntax.BinaryExpr) bool {
	switch x, y := IsNumber(e.X), IsNumber(e.Y); {
	case !slices.Contains(guardedOps, e.Op), x && y:
		return false
	case e.Op == syntax.PLUS:
		return !x && !y
	case e.Op == syntax.PERCENT:
		return !y
	}
	return true
}

// guardArgs guards f(*args), which collects them.
func (r *rewriter) guardArgs(call *syntax.CallExpr) {
	for _, a := range call.Args {
		if u, ok := a.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR && u.X != nil {
			u.X = r.call(guardElements, u.OpPos, r.expr(u.X))
		}
	}
}

// guardDot guards the methods that may make something large.
func (r *rewriter) guardDot(e *syntax.DotExpr) syntax.Expr {
	if methods[e.Name.Name] == nil {
		return e
	}
	return r.call(guardMethod, e.Dot, e)
}

// visibleNames are the names of a scope that scripts can write.
func visibleNames(d starlark.StringDict) []string {
	return slices.DeleteFunc(d.Keys(), isGuard)
}
