package cexpr

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// A Call is one call of a Builtin, while it is lowered. Its methods lower
// arguments; their errors have the position of the argument.
type Call struct {
	Name string
	Args []c.Node
	At   *c.Call
	l    *lowerer
	as   *c.Type
	// kernel is the result if it is a place in the kernel's memory; Lower then
	// returns no node.
	kernel *expr.KernelData
}

// Scope returns the scope of the expression.
func (k *Call) Scope() *expr.Scope { return k.l.sc }

// Errorf makes an error at argument i, or at the call if i < 0.
func (k *Call) Errorf(i int, format string, args ...any) error {
	if i < 0 || i >= len(k.Args) {
		return k.l.errorf(k.At, "%s: %s", k.Name, fmt.Sprintf(format, args...))
	}
	return k.l.errorf(k.Args[i], "%s: %s", k.Name, fmt.Sprintf(format, args...))
}

// As sets the C type of the result.
func (k *Call) As(t *c.Type) { k.as = t }

// Node lowers argument i, which may be an Int, a Bool or a Str. Arrays of the
// event become a Str of their bytes.
func (k *Call) Node(i int) (expr.Node, error) { return k.Lower(k.Args[i]) }

// Lower lowers any tree in the scope of the call, such as a member of a brace
// list.
func (k *Call) Lower(tree c.Node) (expr.Node, error) {
	v, err := k.l.expr(tree)
	if err != nil {
		return nil, err
	}
	n, err := k.l.root(v)
	if err != nil {
		return nil, k.l.errorf(tree, "%v", err)
	}
	return n, nil
}

// Int lowers argument i as a number; a pointer is its address.
func (k *Call) Int(i int) (expr.Node, error) {
	v, err := k.number(i)
	if err != nil {
		return nil, err
	}
	return k.word(i, v)
}

// word returns an argument as a number; a text or an array is its address.
func (k *Call) word(i int, v value) (expr.Node, error) {
	n, err := k.l.num(k.Args[i], v)
	if err != nil {
		return nil, err
	}
	return expr.Retype(n, v.t.Unsigned), nil
}

// number lowers argument i as a value; in a user's expression a text or an
// array is an error.
func (k *Call) number(i int) (value, error) {
	v, err := k.l.expr(k.Args[i])
	if err != nil || !k.l.byUser() {
		return v, err
	}
	what := ""
	switch {
	case v.text != nil:
		what = "a text"
	case v.array != nil:
		what = "an array"
	default:
		return v, nil
	}
	return v, k.l.meaningless(k.Args[i], "give it a number", "%s: got %s, want a number", k.Name, what)
}

// IntAs lowers argument i converted to a C type, as if by a prototype; nil converts nothing.
func (k *Call) IntAs(i int, t *c.Type) (expr.Node, error) {
	v, err := k.number(i)
	if err != nil {
		return nil, err
	}
	n, err := k.l.num(k.Args[i], v)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return n, nil
	}
	if n, err = convert(n, v.t, t); err != nil {
		return nil, err
	}
	return expr.Retype(n, t.Unsigned), nil
}

// Str lowers argument i as a text.
func (k *Call) Str(i int) (expr.Node, error) {
	v, err := k.l.expr(k.Args[i])
	if err != nil {
		return nil, err
	}
	return k.l.str(k.Args[i], v)
}

// Bytes lowers argument i, an address in the record or an array, as size
// bytes of memory.
func (k *Call) Bytes(i int, size expr.Node) (expr.Node, error) {
	v, err := k.l.expr(k.Args[i])
	if err != nil {
		return nil, err
	}
	addr, err := k.word(i, v)
	if err != nil {
		return nil, err
	}
	return expr.NewMemBytes(addr, size)
}

// Const returns argument i, which must be a constant number; ConstOf does so
// for any tree.
func (k *Call) Const(i int) (int64, error) { return k.ConstOf(k.Args[i]) }

func (k *Call) ConstOf(tree c.Node) (int64, error) {
	v, err := k.l.expr(tree)
	if err != nil {
		return 0, err
	}
	n, err := k.l.num(tree, v)
	if err != nil {
		return 0, err
	}
	if x, ok := n.(*expr.Const); ok {
		return x.Int, nil
	}
	return 0, k.l.errorf(tree, "%s: want a constant", k.Name)
}

// ConstStr returns argument i, which must be a string literal.
func (k *Call) ConstStr(i int) (string, error) {
	if s, ok := k.Args[i].(*c.String); ok {
		return s.Value, nil
	}
	return "", k.Errorf(i, "want a string literal")
}

// Field returns argument i, which must be just the name of a field of the
// event, as for the dynamic array helpers of print fmts.
func (k *Call) Field(i int) (*event.Field, error) {
	id, ok := k.Args[i].(*c.Ident)
	if !ok || k.l.sc.Schema == nil {
		return nil, k.Errorf(i, "want the name of a field")
	}
	f, ok := k.l.sc.Schema.Field(id.Name)
	if !ok {
		k.l.sc.Schema.Field("")
		return nil, k.Errorf(i, "no field %s%s", id.Name, diag.DidYouMean(id.Name, k.l.sc.Schema.Names()))
	}
	return f, nil
}

// List returns argument i, which must be a list in braces.
func (k *Call) List(i int) ([]c.Node, error) {
	if b, ok := k.Args[i].(*c.Brace); ok {
		return b.List, nil
	}
	return nil, k.Errorf(i, "want a list in braces")
}

func (l *lowerer) call(n *c.Call) (value, error) {
	id, ok := n.Fun.(*c.Ident)
	if !ok {
		return value{}, l.errorf(n.Fun, "only functions can be called, by their name")
	}
	b, ok := l.functions.find(id.Name)
	if !ok {
		e := l.errorf(n, "unknown function %s%s", id.Name, diag.DidYouMean(id.Name, l.functions.names()))
		return value{}, e.(*diag.Error).WithHint("use one of: %s", l.functions.forUsers())
	}
	if len(n.Args) < b.Min || b.Max >= 0 && len(n.Args) > b.Max {
		e := l.errorf(n, "%s: got %d arguments, want %s", id.Name, len(n.Args), count(b.Min, b.Max))
		return value{}, e.(*diag.Error).WithHint("write %s", b.Usage)
	}
	k := &Call{Name: id.Name, Args: n.Args, At: n, l: l}
	r, err := b.Lower(k)
	if err != nil {
		return value{}, err
	}
	if k.kernel != nil {
		return l.kernelValue(n, k.kernel, nil)
	}
	v, err := l.valueOf(n, r)
	if err == nil && k.as != nil {
		v.t = k.as
	}
	return v, err
}

func count(low, high int) string {
	switch {
	case high < 0:
		return fmt.Sprintf("at least %d", low)
	case low == high:
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}
