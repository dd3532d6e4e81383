package frontend

import (
	"slices"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file unrolls loops over constants, and over lists of the state.

// loop unrolls a loop.
func (p *proc) loop(st *syntax.ForStmt) exit {
	turns := p.turns(st)
	broken := p.broken
	defer func() { p.broken = broken }()
	p.broken = nil
	breaks := hasBreak(st.Body)
	if breaks {
		l := val{node: expr.NewLocal(p.newLocal(), "break", expr.TBool)}
		p.broken = &l
		p.setBroken(st, false)
	}
	for _, x := range turns {
		if !breaks {
			p.turn(st, x)
			if end := p.block(st.Body); end == leaves {
				return leaves
			}
			continue
		}
		// With break, each iteration is skipped if an earlier one left the
		// loop.
		out, vars := p.out, p.vars
		p.out, p.vars = nil, p.copyVars()
		p.turn(st, x)
		end := p.block(st.Body)
		body, after := expr.NewBlock(p.out...), p.vars
		p.out = out
		if p.vars = p.meet(vars, after); end == leaves {
			p.vars = vars
		}
		test, err := expr.PyUnary("not", p.broken.node)
		p.must(st.For, err)
		n, err := expr.NewIf(test, body, nil)
		p.must(st.For, err)
		p.add(n)
	}
	return falls
}

// turns returns the values of the loop's variable.
func (p *proc) turns(st *syntax.ForStmt) (turns []val) {
	const maxTurns = 64
	x := p.expr(st.X)
	seq, ok := x.c.(starlark.Iterable)
	switch {
	case x.list != nil && len(x.list.list) <= maxTurns:
		return p.elements(st.For, x.list)
	case !ok || starlark.Len(seq) > maxTurns || starlark.Len(seq) < 0:
		p.refuse(st.For, "a loop over what is not a constant of at most %d members", maxTurns)
	}
	for c := range starlark.Elements(seq) {
		turns = append(turns, val{c: c})
	}
	return turns
}

// turn binds the variables of one iteration. Constants are bound directly; an
// element of the state may change during the iteration, and is kept.
func (p *proc) turn(st *syntax.ForStmt, x val) {
	vars := script.Unparen(st.Vars)
	if id, ok := vars.(*syntax.Ident); ok && firstOf(id) != nil {
		if x.node != nil {
			x = p.keep(st.For, firstOf(id), x)
		}
		p.vars[firstOf(id)] = x
		return
	}
	t, ok := vars.(*syntax.TupleExpr)
	seq, many := x.c.(starlark.Iterable)
	if !ok || !many || starlark.Len(seq) != len(t.List) {
		p.refuse(st.For, "the variables of the loop")
	}
	values := slices.Collect(starlark.Elements(seq))
	for i, v := range t.List {
		id, ok := script.Unparen(v).(*syntax.Ident)
		if !ok || firstOf(id) == nil {
			p.refuse(st.For, "the variables of the loop")
		}
		p.vars[firstOf(id)] = val{c: values[i]}
	}
}

func (p *proc) setBroken(st *syntax.ForStmt, to bool) {
	n, err := expr.NewSet(p.broken.node.(*expr.Local).Index, "break", expr.NewBool(to))
	p.must(st.For, err)
	p.add(n)
}

// hasBreak reports that a loop has a break of its own.
func hasBreak(body []syntax.Stmt) bool {
	for _, st := range body {
		switch st := st.(type) {
		case *syntax.BranchStmt:
			if st.Token == syntax.BREAK {
				return true
			}
		case *syntax.IfStmt:
			if hasBreak(st.True) || hasBreak(st.False) {
				return true
			}
		}
	}
	return false
}

// nested reports that the function contains other functions.
func (p *proc) nested() bool {
	found := false
	syntax.Walk(p.tree.Node, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			found = found || n != p.tree.Node
		}
		return !found
	})
	return found
}
