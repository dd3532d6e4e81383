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
// is made (bounds.go): x * y becomes a call that checks x and y first, s.join
// becomes a call that returns a checked method, and the operands of += and of
// calls with *args are checked. The tree for checks and lowering is not
// changed; the rewritten code comes from a second parse, and has the same
// positions.

// Names of the functions that rewritten code calls. Scripts cannot use them,
// since they contain blanks.
const (
	guardMethod   = "guard method"
	guardOperand  = "guard operand"
	guardElements = "guard elements"
	guardTexts    = "guard texts"
)

// guardedOps are the operators that are checked.
var guardedOps = []syntax.Token{syntax.PLUS, syntax.STAR, syntax.PERCENT, syntax.LTLT}

// guards has the functions that rewritten code calls.
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

// An operand wraps the right side of x *= y. The interpreter calls its Binary,
// since x does not support the operand's type. So x is evaluated only once,
// also if it is a call.
type operand struct{ starlark.Value }

var _ starlark.HasBinary = operand{}

// Binary implements starlark.HasBinary.
func (o operand) Binary(op syntax.Token, x starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side == starlark.Left {
		return boundedBinary(op, o.Value, x)
	}
	return boundedBinary(op, x, o.Value)
}

// isGuard reports that a name is one of these functions.
func isGuard(name string) bool { return len(name) > 6 && name[:6] == "guard " }

// guarded returns the rewritten tree of a file. text has been parsed before
// without an error.
func guarded(name, text string, opts *syntax.FileOptions) (*syntax.File, error) {
	tree, err := opts.Parse(name, text, 0)
	if err != nil {
		return nil, err
	}
	r := rewriter{guard: true}
	tree.Stmts = r.stmts(tree.Stmts)
	return tree, nil
}

// program resolves a file's tree, and compiles a rewritten copy of it.
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

// withGuards returns names together with the functions for rewritten code.
func withGuards(names, guards starlark.StringDict) starlark.StringDict {
	all := maps.Clone(guards)
	maps.Copy(all, names)
	return all
}

// GuardOf returns the checked form of one of Starlark's functions; v itself if
// it has none.
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
		// For shifts, the interpreter does not call the operand's Binary. A
		// shift of other targets is not rewritten, and adds at most 511 bits.
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

// needsGuard reports that the result of x op y may be large. With a number
// literal on one side, a sum is a number, and the result of % is as long as its
// template.
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

// guardArgs rewrites f(*args), which copies all elements of args.
func (r *rewriter) guardArgs(call *syntax.CallExpr) {
	for _, a := range call.Args {
		if u, ok := a.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR && u.X != nil {
			u.X = r.call(guardElements, u.OpPos, r.expr(u.X))
		}
	}
}

// guardDot rewrites uses of methods with possibly large results.
func (r *rewriter) guardDot(e *syntax.DotExpr) syntax.Expr {
	if methods[e.Name.Name] == nil {
		return e
	}
	return r.call(guardMethod, e.Dot, e)
}

// visibleNames lists the names of a scope without the functions for rewritten
// code.
func visibleNames(d starlark.StringDict) []string {
	return slices.DeleteFunc(d.Keys(), isGuard)
}
