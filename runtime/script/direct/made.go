package direct

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compiles expressions that make lists, dicts and slices.

// dict compiles {key: value}.
func (c *compiler) dict(e *syntax.DictExpr) eval {
	var keys, values []eval
	for _, entry := range e.List {
		kv := entry.(*syntax.DictEntry)
		keys, values = append(keys, c.expr(kv.Key)), append(values, c.expr(kv.Value))
	}
	return func(f *frame) starlark.Value {
		d := starlark.NewDict(len(keys))
		for i, key := range keys {
			if !put(f, d, key, values[i], true) {
				return nil
			}
		}
		return d
	}
}

// put adds an entry to a dict. With once, an existing key is a failure.
func put(f *frame, d *starlark.Dict, key, val eval, once bool) bool {
	k := key(f)
	if k == nil {
		return false
	}
	v := val(f)
	if v == nil {
		return false
	}
	if once {
		if _, found, err := d.Get(k); found || err != nil {
			return false
		}
	}
	return d.SetKey(k, v) == nil
}

// comprehension compiles [x for y in z if ...] or {k: v for ...}.
func (c *compiler) comprehension(e *syntax.Comprehension) eval {
	var list []starlark.Value
	var dict *starlark.Dict
	var body exec
	if e.Curly {
		entry, ok := e.Body.(*syntax.DictEntry)
		if !ok {
			return c.refuse()
		}
		key, val := c.expr(entry.Key), c.expr(entry.Value)
		body = func(f *frame) outcome { return outcomeOf(put(f, dict, key, val, false)) }
	} else {
		x := c.expr(e.Body)
		body = func(f *frame) outcome {
			v := x(f)
			list = append(list, v)
			return outcomeOf(v != nil)
		}
	}
	for i := len(e.Clauses) - 1; i >= 0; i-- {
		inner := body
		switch clause := e.Clauses[i].(type) {
		case *syntax.IfClause:
			cond := c.truth(clause.Cond)
			body = func(f *frame) outcome {
				switch cond(f) {
				case yes:
					return inner(f)
				case no:
					return next
				}
				return failed
			}
		case *syntax.ForClause:
			body = turns(c.expr(clause.X), c.target(clause.Vars), inner)
		default:
			return c.refuse()
		}
	}
	return func(f *frame) starlark.Value {
		// list and dict can be shared between calls: functions are not recursive, so this
		// comprehension never runs inside itself.
		list, dict = nil, nil
		if e.Curly {
			dict = new(starlark.Dict)
		}
		if body(f) != next {
			return nil
		}
		if e.Curly {
			return dict
		}
		return starlark.NewList(list)
	}
}

// slice compiles x[from:to].
func (c *compiler) slice(e *syntax.SliceExpr) eval {
	if e.Step != nil {
		return c.refuse()
	}
	x := c.expr(e.X)
	bound := func(e syntax.Expr) eval {
		if e == nil {
			return func(*frame) starlark.Value { return starlark.None }
		}
		return c.expr(e)
	}
	from, to := bound(e.Lo), bound(e.Hi)
	return func(f *frame) starlark.Value {
		a, _ := x(f).(starlark.Sliceable)
		if a == nil {
			return nil
		}
		n := a.Len()
		lo, ok := place(from(f), n, 0)
		hi, too := place(to(f), n, n)
		if !ok || !too {
			return nil
		}
		return a.Slice(lo, max(lo, hi), 1)
	}
}

// place converts a bound of a slice of n elements to an index; none is the
// index for None.
func place(v starlark.Value, n, none int) (i int, ok bool) {
	if v == starlark.None {
		return none, true
	}
	if v == nil {
		return 0, false
	}
	i, err := starlark.AsInt32(v)
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n), err == nil
}

// turns runs a body for each element of x.
func turns(x eval, set store, body exec) exec {
	return func(f *frame) outcome {
		list := x(f)
		if list == nil {
			return failed
		}
		it := starlark.Iterate(list)
		if it == nil {
			return failed
		}
		defer it.Done()
		var v starlark.Value
		for it.Next(&v) {
			if f.turns--; f.turns < 0 || !set(f, v) {
				return failed
			}
			switch o := body(f); o {
			case broken:
				return next
			case returned, failed:
				return o
			}
		}
		return next
	}
}

// loop compiles a statement for.
func (c *compiler) loop(st *syntax.ForStmt) exec {
	return turns(c.expr(st.X), c.target(st.Vars), c.block(st.Body))
}

// elements compiles a list or tuple of expressions.
func (c *compiler) elements(list []syntax.Expr, of func([]starlark.Value) starlark.Value) eval {
	all := c.exprs(list)
	return func(f *frame) starlark.Value {
		vs := make([]starlark.Value, len(all))
		for i, x := range all {
			if vs[i] = x(f); vs[i] == nil {
				return nil
			}
		}
		return of(vs)
	}
}
