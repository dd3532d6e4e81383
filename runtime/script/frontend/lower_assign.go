package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/system/kerneltype"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file translates assignments. It decides which values need a local
// variable of the IR.

type localKey struct {
	id *syntax.Ident
	t  expr.Type
	u  event.Unit
}

// assign translates =, += and the like.
func (p *proc) assign(st *syntax.AssignStmt) {
	lhs := script.Unparen(st.LHS)
	if t, ok := lhs.(*syntax.TupleExpr); ok && st.Op == syntax.EQ {
		p.unpack(st, t)
		return
	}
	var v val
	if c, ok := script.Unparen(st.RHS).(*syntax.CondExpr); ok && st.Op == syntax.EQ && p.isMember(lhs) {
		// Each side is converted to the type of the member.
		side := func(x syntax.Expr) []syntax.Stmt {
			return []syntax.Stmt{&syntax.AssignStmt{OpPos: st.OpPos, Op: syntax.EQ, LHS: st.LHS, RHS: x}}
		}
		p.block([]syntax.Stmt{&syntax.IfStmt{
			If: c.If, Cond: c.Cond, True: side(c.True), False: side(c.False),
		}})
		return
	}
	if st.Op == syntax.EQ {
		v = p.assigned(st.RHS)
	} else {
		op := st.Op - syntax.PLUS_EQ + syntax.PLUS
		changed := &syntax.BinaryExpr{X: st.LHS, OpPos: st.OpPos, Op: op, Y: st.RHS}
		if at, ok := lhs.(*syntax.IndexExpr); ok {
			if m := p.expr(at.X).list; m != nil {
				p.changeElement(changed, m, at.Y)
				return
			}
		}
		v = p.binary(changed)
		if _, list := v.c.(*starlark.List); list {
			p.refuse(st.OpPos, "a list is changed")
		}
	}
	p.put(st.OpPos, lhs, v)
}

// assigned translates the right side of an assignment. A place in the kernel's memory
// is not read, since it may be followed by members later.
func (p *proc) assigned(e syntax.Expr) val {
	if v := p.place(e); v.data == nil || !v.data.Pointers() || v.data.Type.Text() {
		return p.settled(syntax.Start(e), v)
	} else if v.data.Type.Kind() == kerneltype.Pointer {
		return p.settled(syntax.Start(e), v)
	} else {
		return v
	}
}

// isMember reports that the target is a member of the state, or an element of
// one.
func (p *proc) isMember(e syntax.Expr) bool {
	if at, ok := e.(*syntax.IndexExpr); ok {
		id, ok := at.X.(*syntax.Ident)
		return ok && firstOf(id) != nil && p.vars[firstOf(id)].list != nil || p.isMember(at.X)
	}
	dot, ok := e.(*syntax.DotExpr)
	if !ok {
		return false
	}
	id, ok := dot.X.(*syntax.Ident)
	return ok && firstOf(id) != nil && p.vars[firstOf(id)].state
}

// unpack translates a, b = x, y: all right sides are evaluated first.
func (p *proc) unpack(st *syntax.AssignStmt, t *syntax.TupleExpr) {
	var vals []val
	if r, ok := script.Unparen(st.RHS).(*syntax.TupleExpr); ok {
		for _, x := range r.List {
			v := p.expr(x)
			if v.node != nil {
				v = p.keep(st.OpPos, nil, v)
			}
			vals = append(vals, v)
		}
	} else {
		seq, ok := p.expr(st.RHS).c.(starlark.Iterable)
		if !ok {
			p.refuse(st.OpPos, "unpacking what is known only when it runs")
		}
		for c := range starlark.Elements(seq) {
			vals = append(vals, val{c: c})
		}
	}
	if len(vals) != len(t.List) {
		p.refuse(st.OpPos, "unpacking what is known only when it runs")
	}
	for i, x := range t.List {
		p.put(st.OpPos, script.Unparen(x), vals[i])
	}
}

func (p *proc) put(at syntax.Position, lhs syntax.Expr, v val) {
	switch lhs := lhs.(type) {
	case *syntax.Ident:
		id := firstOf(lhs)
		if id == nil {
			p.refuse(at, "%s is not a local variable", lhs.Name)
		}
		if p.nested() {
			p.refuse(at, "%s may be used by a nested function", lhs.Name)
		}
		p.vars[id] = p.keep(at, id, v)
	case *syntax.DotExpr:
		x := p.expr(lhs.X)
		if !x.state {
			p.refuse(at, "only members of the state can be assigned")
		}
		p.store(at, lhs.Name.Name, v)
	case *syntax.IndexExpr:
		x := p.expr(lhs.X)
		if x.list == nil {
			p.refuse(at, "only lists of the state can be changed")
		}
		p.storeElement(at, x.list, p.expr(lhs.Y), v)
	default:
		p.refuse(at, "only variables and members of the state can be assigned")
	}
}

// keep makes a value usable in later statements: unchanged if it cannot change
// or fail, else in a local variable of the IR. A variable that is assigned in
// several places has the same local for the same type.
func (p *proc) keep(at syntax.Position, id *syntax.Ident, v val) val {
	if v.ev != nil || v.state || v.list != nil || v.c != nil && !p.many[id] ||
		v.data != nil && v.data.Pointers() && !v.data.Type.Text() && !p.many[id] {
		return v
	}
	if v.c != nil {
		switch v.c.(type) {
		case starlark.Bool, starlark.Int, starlark.Float, starlark.String, value.Duration, value.Time,
			value.Size:
		default:
			return v
		}
	} else if v.node.Type().Kind == expr.Tuple {
		if !stable(v.node) {
			p.refuse(at, "a tuple is kept")
		}
		return v
	} else if stable(v.node) && !p.many[id] {
		return v
	}
	n := p.nodeOf(at, v)
	k := localKey{id, n.Type(), unitOf(v)}
	l, ok := p.local[k]
	if !ok || id == nil {
		name := "tmp"
		if id != nil {
			name = id.Name
		}
		l = val{node: expr.NewLocal(p.newLocal(), name, k.t), unit: k.u}
		p.local[k] = l
	}
	if k.t.Kind == expr.Str && readsState(n) {
		n = copied(n) // the slot of the state may be overwritten
	}
	set, err := expr.NewSet(l.node.(*expr.Local).Index, l.node.(*expr.Local).Name, n)
	p.must(at, err)
	p.add(set)
	return l
}

// stable reports that n has the same value at all times during a call, and
// cannot fail.
func stable(n expr.Node) bool {
	ok := !mayFail(n) || isSignedField(n)
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.Local, *expr.LoadState, *expr.LoadElem, *expr.Native, *expr.Seq, *expr.Func, *expr.Set:
			ok = false
		}
		return ok
	})
	return ok
}

func isSignedField(n expr.Node) bool {
	u, ok := n.(*expr.Unary)
	if !ok || u.Op != expr.OpSigned {
		return false
	}
	f, ok := u.X.(*expr.Field)
	return ok && f.F.Size < 8
}

func readsState(n expr.Node) bool {
	found := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.LoadState, *expr.LoadElem:
			found = true
		}
		return !found
	})
	return found
}

// copied copies a text to the frame's scratch memory, where it stays until the
// end of the call.
func copied(n expr.Node) expr.Node {
	c, err := expr.NewNative(expr.Native{Name: "copy", T: expr.TStr, Args: []expr.Node{n},
		HostOnly: textsHere,
		Str:      func(f *expr.Frame, a []expr.Arg) []byte { return f.Keep(append(f.Scratch(), a[0].S...)) }})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}
