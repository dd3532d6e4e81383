package frontend

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// This file finds the variable for a name in a function, and the number of its
// assignments.

func paramIdent(p syntax.Expr) *syntax.Ident {
	switch p := p.(type) {
	case *syntax.Ident:
		return p
	case *syntax.BinaryExpr: // name = default
		id, _ := p.X.(*syntax.Ident)
		return id
	}
	return nil
}

// firstOf identifies the variable that id denotes by its first occurrence, also
// inside nested functions; nil for names that are not local variables.
func firstOf(id *syntax.Ident) *syntax.Ident {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b == nil {
		return nil
	}
	switch b.Scope {
	case resolve.Local, resolve.Cell, resolve.Free:
		return b.First
	}
	return nil
}

// assignments counts how often each variable is bound by a statement.
func assignments(n syntax.Node) map[*syntax.Ident]int {
	count := map[*syntax.Ident]int{}
	var bind func(e syntax.Expr)
	bind = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Ident:
			if v := firstOf(e); v != nil {
				count[v]++
			}
		case *syntax.ParenExpr:
			bind(e.X)
		case *syntax.TupleExpr:
			for _, x := range e.List {
				bind(x)
			}
		case *syntax.ListExpr:
			for _, x := range e.List {
				bind(x)
			}
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			bind(n.LHS)
		case *syntax.ForStmt:
			bind(n.Vars)
		case *syntax.ForClause:
			bind(n.Vars)
		case *syntax.DefStmt:
			bind(n.Name)
		}
		return true
	})
	return count
}

// literalArg is the only argument, if it is a string literal.
func literalArg(args []syntax.Expr) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	lit, ok := args[0].(*syntax.Literal)
	if !ok {
		return "", false
	}
	name, ok := lit.Value.(string)
	return name, ok
}

func plainArgs(args []syntax.Expr) bool {
	for _, a := range args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				return false
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				return false
			}
		}
	}
	return true
}
