package tracefs

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/expr/cexpr"
)

// A table is one call of __print_symbolic or __print_flags.
type table struct {
	*event.Symbols
	field string // the only field in the value's expression, "" if there is none or several
	exact bool   // the value is the field itself, not an expression on it
}

// symbols returns the helper __print_symbolic(value, {v, "n"}, ...) or
// __print_flags(value, "delim", {v, "n"}, ...). Package expr has both; the
// versions here also collect the tables, and skip entries with unknown values.
func (b *builder) symbols(flags bool) func(*cexpr.Call) (expr.Node, error) {
	return func(k *cexpr.Call) (expr.Node, error) {
		value, err := k.IntAs(0, c.TULong)
		if err != nil {
			return nil, err
		}
		t := table{Symbols: &event.Symbols{Names: map[uint64]string{}, Flags: flags}}
		t.field, t.exact = fieldIn(k.Args[0])
		first := 1
		if flags {
			first = 2
			// The delimiter may be NULL.
			if s, ok := k.Args[1].(*c.String); ok {
				t.Delim = s.Value
			}
		}
		for _, entry := range k.Args[first:] {
			t.add(k, entry)
		}
		b.p.tables = append(b.p.tables, t)
		return expr.Symbolic(value, t.Symbols)
	}
}

// add adds one { value, "name" }. It leaves out unknown enumerators, the { -1,
// NULL } at the end of some tables, and empty names: for an empty name the
// kernel prints the number.
func (t *table) add(k *cexpr.Call, entry c.Node) {
	pair, ok := entry.(*c.Brace)
	if !ok || len(pair.List) != 2 {
		return
	}
	name, ok := pair.List[1].(*c.String)
	if !ok || name.Value == "" && !t.Flags {
		return
	}
	v, err := k.ConstOf(pair.List[0])
	if err != nil {
		return
	}
	if _, dup := t.Names[uint64(v)]; dup {
		return // the first name of a value counts
	}
	t.Names[uint64(v)] = name.Value
	t.Order = append(t.Order, uint64(v))
}

// fieldIn returns the name of the field that an expression reads, if there is
// only one. exact means that the expression is just the field.
func fieldIn(tree c.Node) (name string, exact bool) {
	several := false
	c.Walk(tree, func(n c.Node) {
		m, ok := n.(*c.Member)
		if !ok {
			return
		}
		if rec, ok := m.X.(*c.Ident); !ok || rec.Name != "REC" {
			return
		}
		several = several || name != "" && name != m.Name
		name = m.Name
	})
	if several {
		return "", false
	}
	for {
		cast, ok := tree.(*c.Cast)
		if !ok {
			break
		}
		tree = cast.X
	}
	_, exact = tree.(*c.Member)
	return name, exact
}

// symbolsOf finds the table of names for a field: a table for the plain value
// if there is one, else a table for an expression on it.
func (p *printer) symbolsOf(field string) *event.Symbols {
	var found *table
	for i := range p.tables {
		if t := &p.tables[i]; t.field == field && (found == nil || t.exact && !found.exact) {
			found = t
		}
	}
	if found == nil {
		return nil
	}
	return found.Symbols
}
