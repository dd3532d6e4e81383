package value

import (
	"cmp"
	"fmt"

	"ppscript/runtime/event"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Time is a moment on the clock of events, in nanoseconds, as a Starlark
// value. The difference of two Times is a Duration; Times cannot be added.
type Time int64

var (
	_ starlark.HasBinary      = Time(0)
	_ starlark.HasAttrs       = Time(0)
	_ starlark.TotallyOrdered = Time(0)
)

// String is the time in seconds, in the form of perf.
func (t Time) String() string {
	sign, n := "", uint64(t)
	if t < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
}

func (t Time) Type() string          { return "time" }
func (t Time) Freeze()               {}
func (t Time) Truth() starlark.Bool  { return t != 0 }
func (t Time) Hash() (uint32, error) { return hashInt(int64(t)), nil }

// Event returns t as the runtime's type.
func (t Time) Event() event.Time { return event.Time(t) }

func (t Time) Cmp(y starlark.Value, _ int) (int, error) {
	return cmp.Compare(t, y.(Time)), nil
}

// Attr returns the number in a unit: ns as an int, others as floats.
func (t Time) Attr(name string) (starlark.Value, error) {
	if name == "ns" {
		return starlark.MakeInt64(int64(t)), nil
	}
	return inSeconds(int64(t), name)
}

func (t Time) AttrNames() []string { return []string{"ms", "ns", "s", "us"} }

func (t Time) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y := y.(type) {
	case Time:
		if op != syntax.MINUS {
			return nil, nil
		}
		n, err := subInt(int64(t), int64(y))
		return Duration(n), err
	case Duration:
		var n int64
		var err error
		switch {
		case op == syntax.PLUS:
			n, err = addInt(int64(t), int64(y))
		case op == syntax.MINUS && side == starlark.Left:
			n, err = subInt(int64(t), int64(y))
		case op == syntax.PERCENT && side == starlark.Left:
			n, err = floorMod(int64(t), int64(y))
			return Duration(n), err
		default:
			return nil, nil
		}
		return Time(n), err
	}
	return nil, nil
}
