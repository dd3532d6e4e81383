package cexpr

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// This file and the lower_*.go files are the C front end: they lower syntax trees to
// IR with the meaning of C on an LP64 machine. Integers are promoted and converted by
// the standard's rules, and wrap where gcc's code wraps. Undefined behaviour of C is
// defined: shift counts are taken modulo the width (see shift); a division by zero, a
// quotient that does not fit, and an address outside the event are errors of the
// evaluation.
//
// It differs from C in one point: character arrays are texts, == and != compare
// their content, and ~ matches a glob. It differs from perf-prof in that && and
// || give 0 or 1, as in C, not the last operand.

type lowerer struct {
	sc        *expr.Scope
	functions functions
	src       string
	tree      c.Node // if there is no source
	vars      map[string]*variable
	assigned  map[string]bool
	prologue  []expr.Node
	slots     int
}

// A variable is a local variable: a declared one, or a copy of an event's field
// that the expression assigns.
type variable struct {
	index int
	t     *c.Type
	text  bool // it holds a Str
}

// A value is the value of a subexpression.
type value struct {
	t *c.Type
	// n is the number, or the address if t is a pointer or an array; nil for a
	// text without an address.
	n expr.Node
	// real is the value if it is a double; n is then its integer part, for integer operators.
	real expr.Node
	// text is the text; nil for other values, and for texts that are given by
	// their address n.
	text expr.Node
	// addr is the address of the value in the record; nil if it is not in the
	// record.
	addr expr.Node
	// array is the field if the value is a whole array field.
	array *expr.Field
	// part and record are set if the value is REC, start or end, or points to
	// one of them.
	part   expr.Part
	record *event.Schema
	// kernel is the place of the value in the kernel's memory; nil if it is
	// elsewhere.
	kernel *expr.KernelData
}

var tCharPtr = c.PtrTo(c.TChar)

func number(t *c.Type, n expr.Node) value { return value{t: t, n: n} }
func textual(n expr.Node) value           { return value{t: tCharPtr, text: n} }

// assignedIn returns the names that are assigned anywhere in a tree.
func assignedIn(tree c.Node) map[string]bool {
	assigned := map[string]bool{}
	note := func(n c.Node) {
		if id, ok := n.(*c.Ident); ok {
			assigned[id.Name] = true
		}
	}
	c.Walk(tree, func(n c.Node) {
		switch n := n.(type) {
		case *c.Assign:
			note(n.X)
		case *c.Postfix:
			note(n.X)
		case *c.Unary:
			if n.Op == "++" || n.Op == "--" {
				note(n.X)
			}
		}
	})
	return assigned
}

func (l *lowerer) expr(tree c.Node) (value, error) {
	switch n := tree.(type) {
	case *c.Number:
		t := expr.Type{Kind: expr.Int, Unsigned: n.Type.Unsigned}
		return number(n.Type, &expr.Const{T: t, Int: int64(n.Value)}), nil
	case *c.String:
		return value{t: c.ArrayOf(c.TChar, len(n.Value)+1), text: expr.NewStr(n.Value)}, nil
	case *c.Ident:
		return l.ident(n)
	case *c.Unary:
		return l.unary(n)
	case *c.Postfix:
		return writer{l}.increment(n, n.X, n.Op, true)
	case *c.Binary:
		return l.binary(n)
	case *c.Assign:
		return writer{l}.assign(n)
	case *c.Cond:
		return l.cond(n)
	case *c.Call:
		return l.call(n)
	case *c.Index:
		return l.index(n)
	case *c.Member:
		return l.member(n)
	case *c.Cast:
		return l.cast(n)
	case *c.Sizeof:
		return l.sizeof(n)
	case *c.StmtExpr:
		return writer{l}.statements(n)
	case *c.Brace:
		return value{}, l.errorf(n, "a list in braces can only be an argument")
	}
	return value{}, l.errorf(tree, "declarations are only possible inside ({ })")
}

// root makes the node of a whole expression.
func (l *lowerer) root(v value) (expr.Node, error) {
	switch {
	case v.text != nil:
		return v.text, nil
	case v.real != nil:
		return v.real, nil
	case v.kernel != nil && v.n == nil:
		return v.kernel.Node()
	case v.array != nil:
		return expr.NewFieldView(v.array.F, v.array.Part, expr.ViewBytes)
	case v.record != nil:
		return nil, fmt.Errorf("the event as a whole is not a value; name a field")
	case v.t.Kind == c.Void:
		return v.n, nil
	case v.t.CharPtr() && expr.IntoRecord(v.n):
		return expr.NewCStr(v.n) // (char *)&common_type + name_offset stands for a text
	case v.t.Pointer():
		return expr.Retype(v.n, true), nil
	}
	return expr.Retype(expr.ToInt(v.n), v.t.Unsigned), nil
}

// num returns the value as a number or an address.
func (l *lowerer) num(at c.Node, v value) (expr.Node, error) {
	switch {
	case v.record != nil:
		return nil, l.errorf(at, "the event as a whole is not a number; name a field")
	case v.n == nil && v.kernel != nil && v.text == nil:
		_, err := v.kernel.Node()
		return nil, l.kernelError(at, err)
	case v.n == nil:
		return nil, withHint(l.errorf(at, "a text is used as a number"),
			`compare texts with ==, != and ~, as in comm == "x" && pid > 1; strlen("x") is a number`)
	case v.t.Kind == c.Void:
		return nil, l.errorf(at, "this has no value")
	}
	return expr.ToInt(v.n), nil
}

// str returns the value as a text.
func (l *lowerer) str(at c.Node, v value) (expr.Node, error) {
	if v.text != nil {
		return v.text, nil
	}
	if v.n != nil && v.t.CharPtr() {
		return expr.NewCStr(v.n)
	}
	return nil, l.errorf(at, "this is a %s, want a text", v.t)
}

// truth returns the value as a condition. A text is true, since its address is
// not null.
func (l *lowerer) truth(at c.Node, v value) (expr.Node, error) {
	if v.text != nil {
		return expr.NewBool(true), nil
	}
	if v.n == nil || v.t.Kind == c.Void {
		_, err := l.num(at, v)
		return nil, err
	}
	if v.real != nil {
		return expr.NewUnary(expr.OpTruth, v.real)
	}
	return expr.NewUnary(expr.OpTruth, v.n)
}

func (l *lowerer) ident(id *c.Ident) (value, error) {
	name := id.Name
	if v, ok := l.vars[name]; ok {
		return v.value(name), nil
	}
	v, ok, err := l.lookup(id)
	if err != nil {
		return v, err
	}
	if ok {
		_, fixed := l.sc.Consts[name]
		if _, isVar := l.sc.Vars[name]; l.assigned[name] && !fixed && !isVar && v.record == nil {
			return l.shadow(id, v)
		}
		return v, nil
	}
	n, ok, wrong := l.enumerator(name)
	if ok {
		return number(c.TLong, expr.NewInt(n)), nil
	}
	names := namesOf(l.sc)
	if wrong != nil && diag.Nearest(name, names) == "" && strings.Contains(wrong.Error(), "did you mean") {
		return value{}, l.errorf(id, "%v", wrong).(*diag.Error).
			WithHint("macros are not among the kernel's types: write their number")
	}
	e := l.errorf(id, "unknown variable %s%s", name, diag.DidYouMean(name, names)).(*diag.Error)
	if _, isFunc := l.functions.find(name); isFunc {
		return value{}, l.errorf(id, "%s is a function; write %s(...)", name, name)
	}
	if len(names) == 0 {
		return value{}, e.WithHint("use numbers only: there is no event here")
	}
	return value{}, e.WithHint("use one of: %s", strings.Join(names, ", "))
}

func (l *lowerer) lookup(id *c.Ident) (v value, ok bool, err error) {
	sc, name := l.sc, id.Name
	if n, ok := sc.Vars[name]; ok {
		v, err := l.valueOf(id, n)
		return v, true, err
	}
	if s := sc.Schema; s != nil {
		if f, ok := s.Field(name); ok {
			return fieldValue(f, expr.Self), true, nil
		}
		for suffix, view := range map[string]expr.View{"_offset": expr.ViewOffset, "_len": expr.ViewLen} {
			base, cut := strings.CutSuffix(name, suffix)
			if f, ok := s.Field(base); cut && ok && dynamic(f) {
				n, err := expr.NewFieldView(f, expr.Self, view)
				return number(c.TInt, n), true, err
			}
		}
		if name == "REC" {
			return recordValue(s, expr.Self), true, nil
		}
	}
	if k, ok := sc.Consts[name]; ok {
		t := c.TLong
		if int64(int32(k)) == k {
			t = c.TInt
		}
		return number(t, expr.NewInt(k)), true, nil
	}
	if s, ok := sc.Parts[name]; ok {
		return recordValue(s, expr.PartNamed(name)), true, nil
	}
	return v, false, nil
}

// valueOf returns an IR node as a value with the C type that fits it.
func (l *lowerer) valueOf(at c.Node, n expr.Node) (value, error) {
	switch t := n.Type(); t.Kind {
	case expr.Int:
		return number(c.Basic(8, t.Unsigned), n), nil
	case expr.Bool:
		return number(c.TInt, n), nil
	case expr.Str:
		return textual(n), nil
	case expr.Float:
		i, err := expr.NewUnary(expr.OpTrunc, n)
		return value{t: c.TLong, n: i, real: n}, err
	case expr.Void:
		return value{t: c.TVoid, n: n}, nil
	default:
		return value{}, l.errorf(at, "a %s cannot be used here", t)
	}
}

// recordValue returns the record of the event as a value: a structure.
func recordValue(s *event.Schema, p expr.Part) value {
	return value{t: c.PtrTo(c.TVoid), record: s, part: p, n: expr.RecordAddr(p)}
}

// fieldValue returns a field as a value with its C type.
func fieldValue(f *event.Field, p expr.Part) value {
	v := value{t: fieldType(f)}
	switch f.Place {
	case event.InRaw:
		v.addr = expr.RecordAt(p, f.Offset)
	case event.DataLoc, event.RelLoc:
		off := &expr.Field{F: f, Part: p, View: expr.ViewOffset}
		v.addr = &expr.Binary{Op: expr.OpAdd, T: expr.TUint, X: expr.RecordAddr(p), Y: off}
	}
	load := &expr.Field{F: f, Part: p}
	switch f.Kind {
	case event.Int:
		v.n = load
	case event.Float:
		v.n, v.real = &expr.Unary{Op: expr.OpTrunc, T: expr.TInt, X: load}, load
	case event.Str:
		v.text, v.n = load, v.addr
	default:
		v.array, v.n = load, v.addr
	}
	return v
}

// fieldType is the C type of a field. The size and sign in the format decide,
// not the name of the type.
func fieldType(f *event.Field) *c.Type {
	name := strings.TrimPrefix(strings.TrimPrefix(f.Type, "__data_loc "), "__rel_loc ")
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	named, known := c.TypeNamed(strings.TrimSpace(name))
	switch f.Kind {
	case event.Int:
		if known && (named.Kind == c.Ptr || named.Kind == c.Bool) && named.Size == f.Size {
			return named
		}
		if !known && strings.HasSuffix(name, "*") {
			return c.PtrTo(c.TVoid)
		}
		return c.Basic(f.Size, !f.Signed)
	case event.Float:
		return c.TLong
	case event.Str:
		if f.Place == event.InRaw {
			return c.ArrayOf(c.TChar, f.Size)
		}
		return tCharPtr
	}
	elem := c.Basic(f.Elem, !f.Signed)
	if f.Elem <= 0 {
		elem = c.TUChar
	}
	if known && named.Kind == c.Ptr {
		elem = named
	}
	if f.Place != event.InRaw {
		return c.PtrTo(elem)
	}
	return c.ArrayOf(elem, f.Size/elem.Size)
}
