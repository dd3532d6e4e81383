package script

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file translates functions statement by statement, in their order:
// variables become locals of the IR, so that what may fail fails where it is
// assigned. Step functions of folds need it, and functions that lower.go's way
// (one expression, which the kernel's filter may take) refuses.
//
// A variable has one type on each way through the function. Where ways meet
// that left different ones behind, or none, it must not be used any more.
// Loops over constants are unrolled; break and continue become the other
// branch of the conditions around them.

// An exit says how a list of statements ends.
type exit uint8

const (
	falls  exit = iota // at its end
	leaves             // always by return
	skips              // always by continue or break
	mixed              // sometimes by continue or break
)

// A proc is a function that is translated by statements.
type proc struct {
	*scopeOf
	out   []expr.Node
	value bool // its result matters
	truth bool // only as true or false
	ret   *val // the first result: the others are of its type
	many  map[*syntax.Ident]bool
	local map[localKey]val
	// broken is the local that says that the loop was left; nil outside of
	// loops, and in those without break.
	broken *val
	loops  int
	stepOf bool // the body of a fold's function: results are dropped
}

type localKey struct {
	id *syntax.Ident
	t  expr.Type
	u  event.Unit
}

func (s *scopeOf) newProc(value, truth bool) *proc {
	p := &proc{scopeOf: s, value: value, truth: truth, many: map[*syntax.Ident]bool{}, local: map[localKey]val{}}
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

// inner translates a list of statements apart, with the variables as they
// are, and leaves p as it was.
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

// branch translates if. Where one side leaves, the statements behind belong to
// the other; done says that they are translated.
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
	// One side leaves: the rest follows the other only.
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
	// Both go on to the end of the iteration.
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

// meet is what is known of the variables where two ways meet.
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

// sameVal reports that two values need no choice.
func sameVal(x, y val) bool {
	switch {
	case x.unset || y.unset:
		return false
	case x.node != nil || y.node != nil:
		return x.node == y.node && x.unit == y.unit
	case x.ev != nil || y.ev != nil:
		return x.ev != nil && y.ev != nil && *x.ev == *y.ev
	case x.state || y.state:
		return x.state && y.state
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

// effect is an expression as a statement: a call.
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

// callee is what a call calls, if that is a constant.
func (p *proc) callee(call *syntax.CallExpr) starlark.Value {
	id, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return nil
	}
	return p.ident(id).c
}

func (p *proc) result(st *syntax.ReturnStmt) {
	if !p.value {
		if st.Result != nil && !p.stepOf {
			p.refuse(st.Return, "it returns a value that nobody uses")
		}
		if st.Result != nil {
			if v := p.expr(st.Result); v.node != nil && !expr.Pure(v.node) || v.node != nil && mayFail(v.node) {
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

// assign is = and += and their like.
func (p *proc) assign(st *syntax.AssignStmt) {
	lhs := unparen(st.LHS)
	if t, ok := lhs.(*syntax.TupleExpr); ok && st.Op == syntax.EQ {
		p.unpack(st, t)
		return
	}
	var v val
	if c, ok := unparen(st.RHS).(*syntax.CondExpr); ok && st.Op == syntax.EQ && p.isMember(lhs) {
		// Each side is converted to what the member is.
		side := func(x syntax.Expr) []syntax.Stmt {
			return []syntax.Stmt{&syntax.AssignStmt{OpPos: st.OpPos, Op: syntax.EQ, LHS: st.LHS, RHS: x}}
		}
		p.block([]syntax.Stmt{&syntax.IfStmt{If: c.If, Cond: c.Cond, True: side(c.True), False: side(c.False)}})
		return
	}
	if st.Op == syntax.EQ {
		v = p.expr(st.RHS)
	} else {
		op := st.Op - syntax.PLUS_EQ + syntax.PLUS
		v = p.binary(&syntax.BinaryExpr{X: st.LHS, OpPos: st.OpPos, Op: op, Y: st.RHS})
		if _, list := v.c.(*starlark.List); list {
			p.refuse(st.OpPos, "a list is changed")
		}
	}
	p.put(st.OpPos, lhs, v)
}

// isMember reports a member of the state.
func (p *proc) isMember(e syntax.Expr) bool {
	dot, ok := e.(*syntax.DotExpr)
	if !ok {
		return false
	}
	id, ok := dot.X.(*syntax.Ident)
	return ok && firstOf(id) != nil && p.vars[firstOf(id)].state
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		x, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = x.X
	}
}

// unpack is a, b = x, y: all right sides come first.
func (p *proc) unpack(st *syntax.AssignStmt, t *syntax.TupleExpr) {
	var vals []val
	if r, ok := unparen(st.RHS).(*syntax.TupleExpr); ok {
		for _, x := range r.List {
			v := p.expr(x)
			if v.node != nil {
				v = p.keep(st.OpPos, nil, v)
			}
			vals = append(vals, v)
		}
	} else if c, ok := p.expr(st.RHS).c.(starlark.Indexable); ok {
		for i := range c.Len() {
			vals = append(vals, val{c: c.Index(i)})
		}
	}
	if len(vals) != len(t.List) {
		p.refuse(st.OpPos, "unpacking what is known only when it runs")
	}
	for i, x := range t.List {
		p.put(st.OpPos, unparen(x), vals[i])
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
	default:
		p.refuse(at, "only variables and members of the state can be assigned")
	}
}

// keep makes a value that later statements can use: as it is if it cannot
// change or fail, else in a local. A variable that is assigned in several
// places always has the same local for the same type.
func (p *proc) keep(at syntax.Position, id *syntax.Ident, v val) val {
	if v.ev != nil || v.state || v.c != nil && !p.many[id] {
		return v
	}
	if v.c != nil {
		switch v.c.(type) {
		case starlark.Bool, starlark.Int, starlark.String, Duration, Time, Size:
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
		n = copied(n) // the slot may be overwritten
	}
	set, err := expr.NewSet(l.node.(*expr.Local).Index, l.node.(*expr.Local).Name, n)
	p.must(at, err)
	p.add(set)
	return l
}

// stable reports that n gives the same value wherever it is evaluated during
// one call, and cannot fail.
func stable(n expr.Node) bool {
	ok := !mayFail(n) || isSignedField(n)
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.Local, *expr.LoadState, *expr.Native, *expr.Seq, *expr.Func, *expr.Set:
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
		_, is := n.(*expr.LoadState)
		found = found || is
		return !found
	})
	return found
}

// copied is a text in memory of its own until the end of the call.
func copied(n expr.Node) expr.Node {
	c, err := expr.NewNative(expr.Native{Name: "copy", T: expr.TStr, Args: []expr.Node{n},
		Str: func(f *expr.Frame, a []expr.Arg) []byte { return f.Keep(append(f.Scratch(), a[0].S...)) }})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}

// store assigns a member of the state.
func (p *proc) store(at syntax.Position, name string, v val) {
	m := p.machine.find(name)
	if m == nil {
		p.refuse(at, "the state has no member %s", name)
	}
	ok := false
	switch {
	case m.kind == kindText:
		ok = isText(v)
	case m.kind == kindBool:
		ok = isBool(v)
	default:
		ok = isInt(v) && (isZero(v.c) || unitOf(v) == m.kind.unit())
	}
	if !ok {
		p.refuse(at, "state %s is a %s and is assigned a %s", name, m.kind, typeOf(v))
	}
	n := p.nodeOf(at, v)
	if n.Type().Kind == expr.Int {
		var err error
		op := expr.OpSigned
		if m.kind == kindUint {
			op = expr.OpUnsigned
		}
		n, err = expr.NewUnary(op, n)
		p.must(at, err)
	}
	st, err := expr.NewStoreState(m.slot, n)
	p.must(at, err)
	p.add(st)
}

// emit hands values on, in the order of the stream's fields.
func (p *proc) emit(call *syntax.CallExpr) {
	fields := p.machine.emits
	args := make([]expr.Node, len(fields))
	for _, a := range call.Args {
		b, ok := a.(*syntax.BinaryExpr)
		if !ok || b.Op != syntax.EQ {
			p.refuse(call.Lparen, "emit of a value without a name")
		}
		at := -1
		for i := range fields {
			if fields[i].Name == b.X.(*syntax.Ident).Name {
				at = i
			}
		}
		if at < 0 {
			p.refuse(call.Lparen, "emit of an unknown name")
		}
		v := p.expr(b.Y)
		args[at] = p.emitted(b.OpPos, &fields[at], v)
	}
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
		if args[i] == nil {
			p.refuse(call.Lparen, "emit lacks %s", names[i])
		}
	}
	n, err := expr.NewEmit(0, names, args...)
	p.must(call.Lparen, err)
	p.add(n)
}

func (p *proc) emitted(at syntax.Position, f *event.Field, v val) expr.Node {
	want := kindOfField(f)
	if f.Unit == event.SizeB {
		want = kindSize
	}
	ok := false
	switch want {
	case kindText:
		ok = isText(v)
	case kindBool:
		ok = isBool(v)
	default:
		ok = want.number() && isInt(v) && (isZero(v.c) || unitOf(v) == want.unit())
	}
	if !ok {
		p.refuse(at, "emit %s: a %s where a %s is expected", f.Name, typeOf(v), want)
	}
	n := p.nodeOf(at, v)
	if n.Type().Kind == expr.Int {
		op := expr.OpSigned
		if want == kindUint {
			op = expr.OpUnsigned
		}
		var err error
		n, err = expr.NewUnary(op, n)
		p.must(at, err)
	}
	return n
}

// loop unrolls a loop over constants.
func (p *proc) loop(st *syntax.ForStmt) exit {
	seq, ok := p.expr(st.X).c.(starlark.Iterable)
	const maxTurns = 64
	if !ok || starlark.Len(seq) > maxTurns || starlark.Len(seq) < 0 {
		p.refuse(st.For, "a loop over what is not a constant of at most %d members", maxTurns)
	}
	broken := p.broken
	defer func() { p.broken = broken }()
	p.broken = nil
	breaks := hasBreak(st.Body)
	if breaks {
		l := val{node: expr.NewLocal(p.newLocal(), "break", expr.TBool)}
		p.broken = &l
		p.setBroken(st, false)
	}
	for x := range starlark.Elements(seq) {
		if !breaks {
			p.turn(st, x)
			if end := p.block(st.Body); end == leaves {
				return leaves
			}
			continue
		}
		// With break, each turn is skipped if an earlier one left the loop.
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

// turn binds the variables of one turn, as constants.
func (p *proc) turn(st *syntax.ForStmt, x starlark.Value) {
	vars := unparen(st.Vars)
	if id, ok := vars.(*syntax.Ident); ok && firstOf(id) != nil {
		p.vars[firstOf(id)] = val{c: x}
		return
	}
	t, ok := vars.(*syntax.TupleExpr)
	c, many := x.(starlark.Indexable)
	if !ok || !many || c.Len() != len(t.List) {
		p.refuse(st.For, "the variables of the loop")
	}
	for i, v := range t.List {
		id, ok := unparen(v).(*syntax.Ident)
		if !ok || firstOf(id) == nil {
			p.refuse(st.For, "the variables of the loop")
		}
		p.vars[firstOf(id)] = val{c: c.Index(i)}
	}
}

func (p *proc) setBroken(st *syntax.ForStmt, to bool) {
	n, err := expr.NewSet(p.broken.node.(*expr.Local).Index, "break", expr.NewBool(to))
	p.must(st.For, err)
	p.add(n)
}

// hasBreak looks for a break of this loop.
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

// nested reports functions within the function.
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

// procedure inlines a call whose result nobody uses.
func (p *proc) procedure(call *syntax.CallExpr, fn *starlark.Function) expr.Node {
	callee, pre := p.arguments(call, fn)
	inner := callee.newProc(false, false)
	inner.stepOf = true
	n, _ := inner.whole()
	return expr.NewBlock(append(pre, n)...)
}

// inlined is a call whose result matters, as an expression.
func (s *scopeOf) inlined(call *syntax.CallExpr, fn *starlark.Function) val {
	callee, pre := s.arguments(call, fn)
	n, v := callee.newProc(true, false).whole()
	if len(pre) > 0 {
		var err error
		n, err = expr.NewSeq(append(pre, n)...)
		s.must(call.Lparen, err)
	}
	return val{node: n, unit: v.unit}
}

// arguments binds the parameters of an inlined function; pre assigns those
// that may fail or change to locals first.
func (s *scopeOf) arguments(call *syntax.CallExpr, fn *starlark.Function) (callee *scopeOf, pre []expr.Node) {
	if !plainArgs(call.Args) {
		s.refuse(call.Lparen, "a call with named or starred arguments")
	}
	args := make([]val, len(call.Args))
	for i, a := range call.Args {
		v := s.expr(a)
		if v.node != nil && !stable(v.node) {
			n := s.nodeOf(call.Lparen, v)
			if n.Type().Kind == expr.Tuple {
				s.refuse(call.Lparen, "a tuple is an argument")
			}
			if n.Type().Kind == expr.Str && readsState(n) {
				n = copied(n)
			}
			l := expr.NewLocal(s.newLocal(), "arg", n.Type())
			set, err := expr.NewSet(l.(*expr.Local).Index, "arg", n)
			s.must(call.Lparen, err)
			pre = append(pre, set)
			v = val{node: l, unit: v.unit}
		}
		args[i] = v
	}
	return s.enter(fn, args, call.Lparen), pre
}

func (l *lowerer) newLocal() int {
	l.locals++
	return l.locals - 1
}

// LowerStep translates the step function for events of sc; LowerFlush the
// flush function. Bind comes first. The error is a *NotLowered.
func (m *Machine) LowerStep(sc *expr.Scope) (expr.Node, error)  { return m.lower(m.step, sc) }
func (m *Machine) LowerFlush(sc *expr.Scope) (expr.Node, error) { return m.lower(m.flush, sc) }

func (m *Machine) lower(sf *stepFunc, sc *expr.Scope) (node expr.Node, err error) {
	l := &lowerer{host: m.host, sc: sc, budget: maxNodes, machine: m}
	err = l.try(func() {
		fn := sf.fn.(*starlark.Function)
		ev := val{ev: &part{expr.Self, sc.Schema, sc.Parts["start"] != nil || sc.Parts["end"] != nil}}
		p := l.enter(fn, []val{{state: true}, ev}, fn.Position()).newProc(false, false)
		p.stepOf = true
		node, _ = p.whole()
	})
	return node, err
}

// try runs a translation and returns why it was refused.
func (l *lowerer) try(fn func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stop, ok := p.(*NotLowered)
			if !ok {
				panic(p)
			}
			err = stop
		}
	}()
	fn()
	return nil
}
