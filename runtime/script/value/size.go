package value

import (
	"cmp"

	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Size is a number of bytes as a Starlark value. Like a Duration, it can be
// added to and compared with Sizes only, and scaled by plain numbers.
type Size int64

var (
	_ starlark.HasBinary      = Size(0)
	_ starlark.HasUnary       = Size(0)
	_ starlark.HasAttrs       = Size(0)
	_ starlark.TotallyOrdered = Size(0)
)

func (s Size) String() string        { return unit.Size(int64(s)) }
func (s Size) Type() string          { return "size" }
func (s Size) Freeze()               {}
func (s Size) Truth() starlark.Bool  { return s != 0 }
func (s Size) Hash() (uint32, error) { return hashInt(int64(s)), nil }

func (s Size) Cmp(y starlark.Value, _ int) (int, error) {
	return cmp.Compare(s, y.(Size)), nil
}

// Attr gives the number in a unit: bytes as an int, the rest as floats.
func (s Size) Attr(name string) (starlark.Value, error) {
	switch name {
	case "bytes":
		return starlark.MakeInt64(int64(s)), nil
	case "kib":
		return starlark.Float(float64(s) / (1 << 10)), nil
	case "mib":
		return starlark.Float(float64(s) / (1 << 20)), nil
	case "gib":
		return starlark.Float(float64(s) / (1 << 30)), nil
	}
	return nil, nil
}

func (s Size) AttrNames() []string { return []string{"bytes", "gib", "kib", "mib"} }

func (s Size) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if y, ok := y.(Size); ok {
		n, plain, err := same(op, int64(s), int64(y))
		return result(Size(n), plain, err)
	}
	n, ok, err := scale(op, int64(s), y, side)
	if !ok || err != nil {
		return nil, err
	}
	return Size(n), nil
}

func (s Size) Unary(op syntax.Token) (starlark.Value, error) {
	switch op {
	case syntax.PLUS:
		return s, nil
	case syntax.MINUS:
		n, err := subInt(0, int64(s))
		return Size(n), err
	}
	return nil, nil
}
