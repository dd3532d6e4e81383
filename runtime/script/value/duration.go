package value

import (
	"cmp"

	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Duration is a duration in nanoseconds as a Starlark value. It can be added
// to and compared with other Durations, and scaled by numbers. Adding or
// comparing a plain number is an error, so that 10 is never taken for 10 ms.
type Duration int64

var (
	_ starlark.HasBinary      = Duration(0)
	_ starlark.HasUnary       = Duration(0)
	_ starlark.HasAttrs       = Duration(0)
	_ starlark.TotallyOrdered = Duration(0)
)

func (d Duration) String() string        { return unit.Duration(int64(d)) }
func (d Duration) Type() string          { return "duration" }
func (d Duration) Freeze()               {}
func (d Duration) Truth() starlark.Bool  { return d != 0 }
func (d Duration) Hash() (uint32, error) { return hashInt(int64(d)), nil }

func (d Duration) Cmp(y starlark.Value, _ int) (int, error) {
	return cmp.Compare(d, y.(Duration)), nil
}

// Attr returns the number in a unit: ns as an int, others as floats.
func (d Duration) Attr(name string) (starlark.Value, error) {
	if name == "ns" {
		return starlark.MakeInt64(int64(d)), nil
	}
	return inSeconds(int64(d), name)
}

func (d Duration) AttrNames() []string { return []string{"ms", "ns", "s", "us"} }

func inSeconds(ns int64, name string) (starlark.Value, error) {
	switch name {
	case "us":
		return starlark.Float(float64(ns) / 1e3), nil
	case "ms":
		return starlark.Float(float64(ns) / 1e6), nil
	case "s":
		return starlark.Float(float64(ns) / 1e9), nil
	}
	return nil, nil
}

func (d Duration) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y := y.(type) {
	case Duration:
		n, plain, err := same(op, int64(d), int64(y))
		return result(Duration(n), plain, err)
	case Time:
		return nil, nil // Time implements it
	}
	n, ok, err := scale(op, int64(d), y, side)
	if !ok || err != nil {
		return nil, err
	}
	return Duration(n), nil
}

func (d Duration) Unary(op syntax.Token) (starlark.Value, error) {
	switch op {
	case syntax.PLUS:
		return d, nil
	case syntax.MINUS:
		n, err := subInt(0, int64(d))
		return Duration(n), err
	}
	return nil, nil
}

// result returns the quantity that same computed, or the plain number.
func result(count starlark.Value, plain starlark.Value, err error) (starlark.Value, error) {
	switch {
	case err == errNoOp:
		return nil, nil
	case err != nil:
		return nil, err
	case plain != nil:
		return plain, nil
	}
	return count, nil
}
