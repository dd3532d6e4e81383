package frontend

import (
	"slices"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file unrolls loops over constants, over lists of the state, and over entries of a list of the kernel.

// loop unrolls a loop.
func (p *proc) loop(st *syntax.ForStmt) exit {
	turns, has := p.turns(st)
	broken := p.broken
	defer func() { p.broken = broken }()
	p.broken = nil
	breaks := hasBreak(st.Body) || has != nil
	if breaks {
		l := val{node: expr.NewLocal(p.newLocal(), "break", expr.TBool)}
		p.broken = &l
		p.setBroken(st, false)
	}
	for i, x := range turns {
		if !breaks {
			p.turn(st, x)
			if end := p.block(st.Body); end == leaves {
				return leaves
			}
			continue
		}
		// With break, each iteration is skipped if an earlier one left the
		// loop. A list of the kernel leaves it at its end.
		if has != nil {
			p.leaveUnless(st, has[i])
		}
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

// leaveUnless makes the loop end here unless a test is true.
func (p *proc) leaveUnless(st *syntax.ForStmt, has expr.Node) {
	out := p.out
	p.out = nil
	p.setBroken(st, true)
	leave := expr.NewBlock(p.out...)
	p.out = out
	test, err := expr.PyUnary("not", has)
	p.must(st.For, err)
	n, err := expr.NewIf(test, leave, nil)
	p.must(st.For, err)
	if test, err = expr.PyUnary("not", p.broken.node); err == nil {
		n, err = expr.NewIf(test, n, nil)
	}
	p.must(st.For, err)
	p.add(n)
}

// turns returns the values of the loop's variable. has is nil, or whether there is a value, by turn.
func (p *proc) turns(st *syntax.ForStmt) (turns []val, has []expr.Node) {
	const maxTurns = 64
	if call, list := p.listCall(st.X); list != nil {
		entries := p.kernelList(call, list)
		for _, d := range entries.Entries {
			turns = append(turns, val{data: d})
		}
		return turns, entries.Has
	}
	x := p.expr(st.X)
	seq, ok := x.c.(starlark.Iterable)
	switch {
	case x.list != nil && len(x.list.list) <= maxTurns:
		return p.elements(st.For, x.list), nil
	case !ok || starlark.Len(seq) > maxTurns || starlark.Len(seq) < 0:
		p.refuse(st.For, "a loop over what is not a constant of at most %d members", maxTurns)
	}
	for c := range starlark.Elements(seq) {
		turns = append(turns, val{c: c})
	}
	return turns, nil
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
