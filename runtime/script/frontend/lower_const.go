package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lowers expressions with constants that are not numbers: look-ups in
// dictionaries, methods of constants, and the members of a fold's state.

// loadState lowers the read of a member of the state.
func (l *lowerer) loadState(e *syntax.DotExpr, name string) val {
	m := l.machine.find(name)
	if m == nil {
		l.refuse(e.Name.NamePos, "the state has no member %s", name)
	}
	if m.list != nil {
		return val{list: m}
	}
	n, err := expr.NewLoadState(m.slot, m.kind.Type.Plain())
	l.must(e.Dot, err)
	return val{node: n, unit: m.kind.Unit}
}

// named returns the value of a node that a let has named.
func (l *lowerer) named(n expr.Node) val {
	v := val{node: n}
	if q, ok := n.(*expr.Quantity); ok {
		v.node = q.X
	}
	if unit := expr.UnitOf(n); unit == event.Nanos || unit == event.Moment {
		v.unit = unit
	}
	return v
}

// dict lowers a dictionary display of constants.
func (s *scopeOf) dict(e *syntax.DictExpr) val {
	d := starlark.NewDict(len(e.List))
	for _, x := range e.List {
		kv := x.(*syntax.DictEntry)
		k, v := s.expr(kv.Key), s.expr(kv.Value)
		if k.c == nil || v.c == nil {
			s.refuse(e.Lbrace, "a dict is made for each event")
		}
		s.must(e.Lbrace, d.SetKey(k.c, v.c))
	}
	d.Freeze()
	return val{c: d}
}

// index lowers x[y]: of a dictionary, a constant list, a list of the state, a text or
// an array.
func (s *scopeOf) index(e *syntax.IndexExpr) val {
	if v, ok := s.part(e); ok {
		return v
	}
	x, y := s.place(e.X), s.expr(e.Y)
	if d := s.kernelOf(e.Lbrack, x); d != nil && !d.Type.Text() {
		if !isInt(y) || unitOf(y) != event.NoUnit {
			s.refuse(e.Lbrack, "an index that is not a number")
		}
		elem, err := d.Index(s.nodeOf(e.Lbrack, y))
		s.must(e.Lbrack, err)
		return val{data: elem}
	}
	x = s.settled(e.Lbrack, x)
	if isText(x) && isInt(y) && (x.c == nil || y.c == nil) && unitOf(y) == event.NoUnit {
		return s.textOp(e.Lbrack, expr.TextAt, x, 0, []val{y})
	}
	if x.list != nil {
		return s.element(e.Lbrack, x.list, y)
	}
	switch c := x.c.(type) {
	case *starlark.Dict:
		if y.c == nil {
			return s.lookUp(e.Lbrack, c, y, nil)
		}
		v, found, err := c.Get(y.c)
		s.must(e.Lbrack, err)
		if found {
			return val{c: v}
		}
	case starlark.Indexable:
		if y.node != nil && isInt(y) && unitOf(y) == event.NoUnit {
			return s.lookUp(e.Lbrack, byIndex(c), y, nil)
		}
		i, err := starlark.AsInt32(orNone(y.c))
		s.must(e.Lbrack, err)
		if i < 0 {
			i += c.Len()
		}
		if i >= 0 && i < c.Len() {
			return val{c: c.Index(i)}
		}
	}
	s.refuse(e.Lbrack, "an index into a %s", typeOf(x))
	return val{}
}

// byIndex converts a list to a dictionary from indices to elements.
func byIndex(list starlark.Indexable) *starlark.Dict {
	n := list.Len()
	d := starlark.NewDict(2 * n)
	for i := range n {
		// Any number can be a key, so there is no error.
		_ = d.SetKey(starlark.MakeInt(i), list.Index(i))
		_ = d.SetKey(starlark.MakeInt(i-n), list.Index(i))
	}
	return d
}

func orNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}

// lookUp lowers the look-up of a key that depends on the event in a constant
// dictionary. otherwise is the default for other keys, nil if there is none.
func (l *lowerer) lookUp(at syntax.Position, d *starlark.Dict, k val, otherwise starlark.Value) val {
	if d.Len() == 0 || k.node == nil {
		l.refuse(at, "a look-up in an empty dict")
	}
	dict := &expr.Dict{Ints: map[int64]int{}, Texts: map[string]int{}, Otherwise: otherwise != nil}
	var first starlark.Value
	members := d.Items()
	if otherwise != nil {
		members = append([]starlark.Tuple{{nil, otherwise}}, members...)
	}
	for i, kv := range members {
		v := kv[1]
		if first == nil {
			first = v
		}
		if kindOf(v) != kindOf(first) ||
			kindOf(v) != kindText && (!kindOf(v).number() || kindOf(v) == kindUint) {
			l.refuse(at, "a dict whose values are not all numbers or all texts")
		}
		n, _ := toWord(v)
		dict.Numbers = append(dict.Numbers, n)
		t, _ := v.(starlark.String)
		dict.Words = append(dict.Words, []byte(t))
		switch key := kv[0].(type) {
		case nil:
		case starlark.Int:
			n, fits := key.Int64()
			if !isInt(k) || unitOf(k) != event.NoUnit || !fits {
				l.refuse(at, "a look-up of a %s", typeOf(k))
			}
			dict.Ints[n] = i
		case starlark.String:
			if !isText(k) {
				l.refuse(at, "a look-up of a %s", typeOf(k))
			}
			dict.Texts[string(key)] = i
		default:
			l.refuse(at, "a dict with keys of type %s", key.Type())
		}
	}
	if len(dict.Ints) > 0 && len(dict.Texts) > 0 {
		l.refuse(at, "a dict with keys of several types")
	}
	node := l.nodeOf(at, k)
	if node.Type().Unsigned {
		l.refuse(at, "a look-up of an unsigned 64-bit number")
	}
	kind := kindOf(first)
	n, err := expr.NewLookup(dict, node, kind.Type.Plain())
	l.must(at, err)
	return val{node: n, unit: kind.Unit}
}

// constantMethod lowers a call of a constant's method: d.get(x), d.items(),
// "a".upper().
func (s *scopeOf) constantMethod(e *syntax.CallExpr, c starlark.Value, name string) val {
	switch c.(type) {
	case *starlark.Dict, starlark.String, *starlark.List:
	default:
		s.refuse(e.Lparen, "method %s of a %s", name, c.Type())
	}
	args := make([]val, len(e.Args))
	all := make(starlark.Tuple, len(e.Args))
	constant := true
	for i, a := range e.Args {
		args[i] = s.expr(a)
		all[i] = args[i].c
		constant = constant && args[i].c != nil
	}
	if d, ok := c.(*starlark.Dict); ok && name == "get" && len(args) == 2 && args[0].node != nil &&
		args[1].c != nil {
		return s.lookUp(e.Lparen, d, args[0], args[1].c)
	}
	if constant {
		m, err := c.(starlark.HasAttrs).Attr(name)
		s.must(e.Lparen, err)
		if m == nil {
			s.refuse(e.Lparen, "method %s of a %s", name, c.Type())
		}
		v, err := starlark.Call(&starlark.Thread{Name: name}, script.AskedMethod(m), all, nil)
		s.must(e.Lparen, err)
		return val{c: v}
	}
	if _, text := c.(starlark.String); text {
		return s.textMethod(e, val{c: c}, name)
	}
	s.refuse(e.Lparen, "method %s", name)
	return val{}
}
