package frontend

import (
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file translates functions statement by statement, in order. Variables
// become local variables of the IR, so that an expression that may fail fails
// at its assignment. It is used for step functions of folds, and for functions
// that lower.go cannot translate as one expression.
//
// A variable has one type on each path through the function. After paths with
// different types, or without a value, meet, it must not be used any more.
// Loops over constants are unrolled; break and continue become the other branch
// of the conditions around them.

// An exit says how a list of statements ends.
type exit uint8

const (
	falls  exit = iota // it reaches its end
	leaves             // always with return
	skips              // always with continue or break
	mixed              // sometimes with continue or break
)

// A proc is a function during its translation by statements.
type proc struct {
	*scopeOf
	out   []expr.Node
	value bool // its result is used
	truth bool // only the truth of the result is used
	ret   *val // the first result, whose type all others must have
	many  map[*syntax.Ident]bool
	local map[localKey]val
	// broken is the local variable that says that the loop was left; nil
	// outside of loops, and in loops without break.
	broken *val
	stepOf bool // the body of a fold's function: results are dropped
}

func (s *scopeOf) newProc(value, truth bool) *proc {
	p := &proc{
		scopeOf: s,
		value:   value,
		truth:   truth,
		many:    map[*syntax.Ident]bool{},
		local:   map[localKey]val{},
	}
	for id, n := range assignments(s.tree.Node) {
		p.many[id] = n > 1
	}
	for _, id := range s.tree.Params {
		if x := paramIdent(id); x != nil && assignments(s.tree.Node)[x] > 0 {
			p.many[x] = true
		}
	}
	syntax.Walk(s.tree.Node, func(n syntax.Node) bool {
		if loop, ok := n.(*syntax.ForStmt); ok {
			for id := range assignments(loop) {
				p.many[id] = true
			}
		}
		return true
	})
	s.proc = p
	return p
}

// whole translates the body into one node.
func (p *proc) whole() (expr.Node, val) {
	p.depth++
	defer func() { p.depth-- }()
	end := p.block(p.tree.Body)
	at := p.fn.Position()
	t := expr.TVoid
	var result val
	if p.value {
		if p.ret == nil || end != leaves && !p.truth {
			p.refuse(at, "it may end without a result")
		}
		result, t = *p.ret, p.ret.node.Type()
	}
	n, err := expr.NewFunc(expr.NewBlock(p.out...), t)
	p.must(at, err)
	result.node = n
	return n, result
}

// inner translates a list of statements separately, beginning with the current
// variables, and restores p afterwards.
func (p *proc) inner(list []syntax.Stmt) (expr.Node, exit, map[*syntax.Ident]val) {
	out, vars := p.out, p.vars
	p.out, p.vars = nil, p.copyVars()
	end := p.block(list)
	n, after := expr.NewBlock(p.out...), p.vars
	p.out, p.vars = out, vars
	return n, end, after
}

func (p *proc) block(list []syntax.Stmt) exit {
	for i, st := range list {
		if p.budget--; p.budget < 0 {
			p.refuse(syntax.Start(st), "the function is too large")
		}
		if ifs, ok := st.(*syntax.IfStmt); ok {
			if done, end := p.branch(ifs, list[i+1:]); done {
				return end
			}
			continue
		}
		switch end := p.stmt(st); end {
		case falls:
		case mixed:
			if i < len(list)-1 {
				p.refuse(syntax.Start(st), "continue or break in a nested condition")
			}
			return mixed
		default:
			return end
		}
	}
	return falls
}

// branch translates an if. If one side leaves, the statements after the if
// belong to the other side; done says that they are already translated.
func (p *proc) branch(st *syntax.IfStmt, rest []syntax.Stmt) (done bool, end exit) {
	test := p.condition(st.Cond)
	if test.c != nil {
		side := st.False
		if test.c.Truth() {
			side = st.True
		}
		if end := p.block(side); end != falls {
			if end == mixed && len(rest) > 0 {
				p.refuse(st.If, "continue or break in a nested condition")
			}
			return true, end
		}
		return false, falls
	}
	yes, no := st.True, st.False
	a, ea, va := p.inner(yes)
	b, eb, vb := p.inner(no)
	switch {
	case ea == mixed || eb == mixed:
		if len(rest) > 0 {
			p.refuse(st.If, "continue or break in a nested condition")
		}
		p.vars = p.meet(va, vb)
		p.add(p.ifNode(st, test, a, b))
		return true, mixed
	case ea == falls && eb == falls:
		p.vars = p.meet(va, vb)
		p.add(p.ifNode(st, test, a, b))
		return false, falls
	case ea != falls && eb != falls:
		p.vars = p.meet(va, vb)
		p.add(p.ifNode(st, test, a, b))
		if ea == eb {
			return true, ea
		}
		return true, mixed
	}
	// One side leaves: the rest follows only the other side.
	gone, other := ea, vb
	if eb != falls {
		gone, other = eb, va
	}
	p.vars = other
	r, er, vr := p.inner(rest)
	if eb != falls {
		a = expr.NewBlock(a, r)
	} else {
		b = expr.NewBlock(b, r)
	}
	p.add(p.ifNode(st, test, a, b))
	switch {
	case gone == leaves:
		p.vars = vr
		return true, er
	case er == leaves:
		if ea != falls {
			p.vars = va
		} else {
			p.vars = vb
		}
		return true, gone
	}
	// Both sides may go to the end of the iteration.
	if ea != falls {
		p.vars = p.meet(va, vr)
	} else {
		p.vars = p.meet(vb, vr)
	}
	if er == gone {
		return true, gone
	}
	return true, mixed
}

func (p *proc) ifNode(st *syntax.IfStmt, test val, a, b expr.Node) expr.Node {
	var other expr.Node
	if s, ok := b.(*expr.Seq); !ok || len(s.List) > 0 {
		other = b
	}
	n, err := expr.NewIf(test.node, a, other)
	p.must(st.If, err)
	return n
}

func (p *proc) add(n expr.Node) { p.out = append(p.out, n) }

// meet merges the variables of two paths that meet.
func (p *proc) meet(a, b map[*syntax.Ident]val) map[*syntax.Ident]val {
	out := map[*syntax.Ident]val{}
	for id, x := range a {
		y, ok := b[id]
		if ok && sameVal(x, y) {
			out[id] = x
		} else {
			out[id] = val{unset: true}
		}
	}
	for id := range b {
		if _, ok := a[id]; !ok {
			out[id] = val{unset: true}
		}
	}
	return out
}

// sameVal reports that two values are the same.
func sameVal(x, y val) bool {
	switch {
	case x.unset || y.unset:
		return false
	case x.node != nil || y.node != nil:
		return x.node == y.node && x.unit == y.unit
	case x.data != nil || y.data != nil:
		return x.data == y.data
	case x.ev != nil || y.ev != nil:
		return x.ev != nil && y.ev != nil && x.ev.same(y.ev)
	case x.state || y.state:
		return x.state && y.state
	case x.list != nil || y.list != nil:
		return x.list == y.list
	}
	eq, err := starlark.Equal(x.c, y.c)
	return err == nil && eq && x.c.Type() == y.c.Type()
}

func (p *proc) stmt(st syntax.Stmt) exit {
	switch st := st.(type) {
	case *syntax.ExprStmt:
		p.effect(st)
		return falls
	case *syntax.AssignStmt:
		p.assign(st)
		return falls
	case *syntax.ReturnStmt:
		p.result(st)
		return leaves
	case *syntax.ForStmt:
		return p.loop(st)
	case *syntax.BranchStmt:
		switch st.Token {
		case syntax.PASS:
			return falls
		case syntax.BREAK:
			n, err := expr.NewSet(p.broken.node.(*expr.Local).Index, "break", expr.NewBool(true))
			p.must(st.TokenPos, err)
			p.add(n)
		}
		return skips
	}
	p.refuse(syntax.Start(st), "this statement cannot be translated")
	return falls
}

// effect translates an expression statement: a call.
func (p *proc) effect(st *syntax.ExprStmt) {
	if _, doc := st.X.(*syntax.Literal); doc {
		return
	}
	if call, ok := st.X.(*syntax.CallExpr); ok {
		if fn := p.callee(call); fn != nil {
			if isEmit(p.host, fn) {
				p.emit(call)
				return
			}
			if f, ok := fn.(*starlark.Function); ok {
				p.add(p.procedure(call, f))
				return
			}
		}
	}
	if v := p.expr(st.X); v.node != nil {
		p.add(v.node)
	}
}

func (p *proc) result(st *syntax.ReturnStmt) {
	if !p.value {
		if st.Result != nil && !p.stepOf {
			p.refuse(st.Return, "it returns a value that nobody uses")
		}
		if call, ok := st.Result.(*syntax.CallExpr); ok {
			p.effect(&syntax.ExprStmt{X: call})
		} else if st.Result != nil {
			if v := p.expr(st.Result); v.node != nil && !expr.Pure(v.node) ||
				v.node != nil && mayFail(v.node) {
				p.add(v.node)
			}
		}
		p.add(expr.NewReturn(nil))
		return
	}
	var v val
	if p.truth {
		v = val{c: starlark.False}
		if st.Result != nil {
			v = p.condition(st.Result)
		}
		v = val{node: p.scopeOf.truth(st.Return, v)}
	} else {
		if st.Result == nil {
			p.refuse(st.Return, "it returns nothing here")
		}
		v = p.expr(st.Result)
		v = val{node: p.nodeOf(st.Return, v), unit: unitOf(v)}
	}
	if v.node.Type().Kind == expr.Tuple {
		p.refuse(st.Return, "it returns a tuple between statements")
	}
	if p.ret == nil {
		p.ret = &v
	} else if p.ret.node.Type() != v.node.Type() || p.ret.unit != v.unit {
		p.refuse(st.Return, "it returns a %s here and a %s before", typeOf(v), typeOf(*p.ret))
	}
	p.add(expr.NewReturn(v.node))
}
