package cexpr

import (
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// This file lowers variables: declarations, assignments, statements.

// A writer lowers the parts of an expression that set variables.
type writer struct{ *lowerer }

func joinNames(names []string) string { return strings.Join(names, ", ") }

// newLocal makes a variable.
func (l *lowerer) newLocal(t *c.Type, text bool) *variable {
	v := &variable{index: l.slots, t: t, text: text}
	l.slots++
	return v
}

func (v *variable) irType() expr.Type {
	if v.text {
		return expr.TStr
	}
	return expr.Type{Kind: expr.Int, Unsigned: v.t.Unsigned}
}

// value reads the variable; the name is used when the node is printed.
func (v *variable) value(name string) value {
	n := expr.NewLocal(v.index, name, v.irType())
	if v.text {
		return value{t: v.t, text: n}
	}
	return number(v.t, n)
}

// shadow copies the value of a name to a local variable at the start of the
// expression, since the event itself is never written.
func (l *lowerer) shadow(id *c.Ident, v value) (value, error) {
	t := decay(v.t)
	var x expr.Node
	var err error
	if v.text != nil {
		x, t = v.text, tCharPtr
	} else if x, err = l.num(id, v); err != nil {
		return v, err
	}
	local := l.newLocal(t, v.text != nil)
	l.vars[id.Name] = local
	set, err := expr.NewSet(local.index, id.Name, x)
	if err != nil {
		return v, err
	}
	l.prologue = append(l.prologue, set)
	return local.value(id.Name), nil
}

// target finds the variable on the left side of an assignment.
func (l writer) target(at c.Node) (string, *variable, error) {
	id, ok := at.(*c.Ident)
	if !ok {
		return "", nil, l.errorf(at, "only variables can be assigned; the event cannot be changed")
	}
	if _, err := l.ident(id); err != nil {
		return "", nil, err
	}
	v, ok := l.vars[id.Name]
	if !ok {
		return "", nil, l.errorf(at, "%s cannot be assigned", id.Name)
	}
	return id.Name, v, nil
}

func (l writer) assign(n *c.Assign) (value, error) {
	name, v, err := l.target(n.X)
	if err != nil {
		return value{}, err
	}
	y, err := l.expr(n.Y)
	if err != nil {
		return y, err
	}
	if n.Op != "" {
		if y, err = l.apply(n, n.Op, n.X, n.Y, v.value(name), y); err != nil {
			return y, err
		}
	}
	return l.store(n.Y, name, v, y)
}

// store assigns a value to a variable, converted to its type.
func (l writer) store(at c.Node, name string, v *variable, y value) (value, error) {
	if v.text {
		s, err := l.str(at, y)
		if err != nil {
			return y, err
		}
		set, err := expr.NewSet(v.index, name, s)
		return value{t: v.t, text: set}, err
	}
	x, err := l.num(at, y)
	if err != nil {
		return y, err
	}
	if v.t.Integer() {
		if x, err = convert(x, y.t, v.t); err != nil {
			return y, err
		}
	}
	set, err := expr.NewSet(v.index, name, expr.Retype(x, v.t.Unsigned))
	return number(v.t, set), err
}

// increment lowers ++ or --, before or after the operand.
func (l writer) increment(at, operand c.Node, op string, post bool) (value, error) {
	name, v, err := l.target(operand)
	if err != nil {
		return value{}, err
	}
	old := v.value(name)
	one := number(c.TInt, expr.NewInt(1))
	next, err := l.apply(at, op[:1], operand, operand, old, one)
	if err != nil {
		return next, err
	}
	set, err := l.store(operand, name, v, next)
	if err != nil || !post {
		return set, err
	}
	// The old value is kept in another local variable.
	keep := l.newLocal(v.t, false)
	save, err := expr.NewSet(keep.index, name+"'", old.n)
	if err != nil {
		return old, err
	}
	seq, err := expr.NewSeq(save, set.n, expr.NewLocal(keep.index, name+"'", v.irType()))
	return number(v.t, seq), err
}

// after returns a value that is computed after other nodes.
func (l *lowerer) after(first []expr.Node, at c.Node, v value) (value, error) {
	pure := true
	for _, n := range first {
		pure = pure && expr.Pure(n)
	}
	if pure {
		return v, nil
	}
	var err error
	out := value{t: decay(v.t)}
	switch {
	case v.text != nil:
		out.t = tCharPtr
		out.text, err = expr.NewSeq(append(first, v.text)...)
	case v.real != nil:
		seq, err := expr.NewSeq(append(first, v.real)...)
		if err != nil {
			return value{}, err
		}
		return realNumber(seq, nil)
	case v.t.Kind == c.Void:
		out.n = expr.NewBlock(append(first, v.n)...)
	default:
		var n expr.Node
		if n, err = l.num(at, v); err == nil {
			out.n, err = expr.NewSeq(append(first, n)...)
		}
	}
	return out, err
}

// statements lowers ({ ...; value; }).
func (l writer) statements(n *c.StmtExpr) (value, error) {
	hidden := map[string]*variable{}
	defer func() {
		for name, v := range hidden {
			if v == nil {
				delete(l.vars, name)
			} else {
				l.vars[name] = v
			}
		}
	}()
	var first []expr.Node
	for i, s := range n.List {
		if d, ok := s.(*c.Decl); ok {
			if _, seen := hidden[d.Name]; !seen {
				hidden[d.Name] = l.vars[d.Name]
			}
			set, err := l.declare(d)
			if err != nil {
				return value{}, err
			}
			first = append(first, set)
			continue
		}
		v, err := l.expr(s)
		if err != nil {
			return v, err
		}
		if i == len(n.List)-1 {
			return l.after(first, s, v)
		}
		r, err := l.root(v)
		if err != nil {
			return v, l.errorf(s, "%v", err)
		}
		first = append(first, r)
	}
	return value{t: c.TVoid, n: expr.NewBlock(first...)}, nil
}

// declare makes a local variable and initializes it, with 0 if no value is
// given.
func (l writer) declare(d *c.Decl) (expr.Node, error) {
	v := number(c.TInt, expr.NewInt(0))
	if d.Init != nil {
		var err error
		if v, err = l.expr(d.Init); err != nil {
			return nil, err
		}
	}
	t := decay(v.t)
	if d.Type != nil {
		var err error
		if t, err = l.resolve(d, d.Type); err != nil {
			return nil, err
		}
	}
	text := t.CharPtr() && v.text != nil
	if !t.Integer() && t.Kind != c.Ptr {
		return nil, l.errorf(d, "variable %s: a %s cannot be declared here", d.Name, t)
	}
	local := l.newLocal(t, text)
	set, err := l.store(d, d.Name, local, v)
	if err != nil {
		return nil, err
	}
	l.vars[d.Name] = local
	if text {
		return set.text, nil
	}
	return set.n, nil
}
