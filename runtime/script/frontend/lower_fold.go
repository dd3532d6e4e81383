package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file translates the parts that only a fold's functions have: the state
// and emit.

// store translates an assignment to a member of the state.
func (p *proc) store(at syntax.Position, name string, v val) {
	m := p.machine.find(name)
	if m == nil {
		p.refuse(at, "the state has no member %s", name)
	}
	if m.list != nil {
		p.storeList(at, m, v)
		return
	}
	st, err := expr.NewStoreState(m.slot, p.stored(at, m, v))
	p.must(at, err)
	p.add(st)
}

// stored converts a value to the type of a member.
func (p *proc) stored(at syntax.Position, m *stateVar, v val) expr.Node {
	ok := false
	switch {
	case m.kind == kindText:
		ok = isText(v)
	case m.kind == kindBool:
		ok = isBool(v)
	default:
		ok = isInt(v) && (isZero(v.c) || unitOf(v) == m.kind.Unit)
	}
	if !ok {
		p.refuse(at, "state %s is a %s and is assigned a %s", m.name, m.kind, typeOf(v))
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
	return n
}

// emit translates a call of emit; the values are in the order of the stream's
// fields.
func (p *proc) emit(call *syntax.CallExpr) {
	fields := p.machine.emits
	args := make([]expr.Node, len(fields))
	effects := p.callsFunctions(call) // then the values are evaluated first, in order
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
		if v.node != nil && effects {
			var set expr.Node
			if set, v = p.hold(b.OpPos, v); set != nil {
				p.add(set)
			}
		}
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
		ok = want.number() && isInt(v) && (isZero(v.c) || unitOf(v) == want.Unit)
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

// LowerStep translates the step function for events of sc, LowerFlush the flush
// function. Bind must be called first. The error is a *notLowered.
func (m *Machine) LowerStep(sc *expr.Scope) (expr.Node, error) { return m.lower(m.step, sc) }

func (m *Machine) LowerFlush(sc *expr.Scope) (expr.Node, error) { return m.lower(m.flush, sc) }

func (m *Machine) lower(sf *stepFunc, sc *expr.Scope) (node expr.Node, err error) {
	l := &lowerer{host: m.host, sc: sc, budget: maxNodes, machine: m}
	err = l.try(func() {
		fn := sf.fn.(*starlark.Function)
		ev := val{ev: subjectOf([]*expr.Scope{sc})}
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
			stop, ok := p.(*notLowered)
			if !ok {
				panic(p)
			}
			err = stop
		}
	}()
	fn()
	return nil
}

// callsFunctions reports that arguments of a call contain calls of the script's
// functions, which may change the state.
func (p *proc) callsFunctions(call *syntax.CallExpr) bool {
	found := false
	syntax.Walk(call, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && c != call {
			_, script := p.callee(c).(*starlark.Function)
			found = found || script
		}
		return !found
	})
	return found
}
