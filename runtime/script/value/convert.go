package value

import (
	"errors"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// ToStarlark converts v to a Starlark value. Lists become tuples, nothing
// becomes None. Small numbers and booleans do not allocate.
func ToStarlark(v event.Value) starlark.Value {
	switch v.Kind {
	case event.IntValue:
		return starlark.MakeInt64(v.Int())
	case event.UintValue:
		return BigUint(v.Uint())
	case event.BoolValue:
		return starlark.Bool(v.Bool())
	case event.FloatValue:
		return starlark.Float(v.Float())
	case event.StrValue:
		return starlark.String(v.String())
	case event.DurationValue:
		return Duration(v.Int())
	case event.TimeValue:
		return Time(v.Int())
	case event.ListValue:
		t := make(starlark.Tuple, len(v.List()))
		for i, m := range v.List() {
			t[i] = ToStarlark(m)
		}
		return t
	}
	return starlark.None
}

const maxNesting = 100

// FromStarlark converts v to an event.Value: numbers that fit in 64 bits,
// texts, quantities, None, and tuples or lists of these. A Size becomes its
// number of bytes.
func FromStarlark(v starlark.Value) (event.Value, error) { return fromStarlark(v, 0) }

func fromStarlark(v starlark.Value, depth int) (event.Value, error) {
	switch v := v.(type) {
	case starlark.Bool:
		return event.BoolOf(bool(v)), nil
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return event.IntOf(n), nil
		}
		if n, ok := v.Uint64(); ok {
			return event.UintOf(n), nil
		}
		return event.Value{}, fmt.Errorf("integer %s does not fit in 64 bits", v)
	case starlark.Float:
		return event.FloatOf(float64(v)), nil
	case starlark.String:
		return event.StrOf(string(v)), nil
	case starlark.Bytes:
		return event.StrOf(string(v)), nil
	case Duration:
		return event.DurationOf(int64(v)), nil
	case Time:
		return event.TimeOf(event.Time(v)), nil
	case Size:
		return event.IntOf(int64(v)), nil
	case starlark.NoneType:
		return event.Value{}, nil
	case interface{ Event() *event.Event }: // a view
		return event.Value{}, errors.New("an event is not a value: return one of its fields")
	case starlark.Indexable: // lists and tuples
		if depth >= maxNesting {
			return event.Value{}, errors.New("lists are nested too deeply")
		}
		vs := make([]event.Value, v.Len())
		for i := range vs {
			m, err := fromStarlark(v.Index(i), depth+1)
			if err != nil {
				return event.Value{}, err
			}
			vs[i] = m
		}
		return event.ListOf(vs...), nil
	}
	return event.Value{}, fmt.Errorf("%s is not a number, text or list of these", v.Type())
}

// UnitOf converts a script's value to a unit: one of the constants (us, MiB),
// or the symbol of a unit as text.
func UnitOf(v starlark.Value) (unit.Unit, error) {
	switch v := v.(type) {
	case starlark.String:
		if u, ok := unit.ByName(string(v)); ok {
			return u, nil
		}
		return unit.Unit{}, fmt.Errorf("unknown unit %s; want ns, us, ms, s, B, KiB, MiB, GiB, %% or Hz", v)
	case Duration:
		for _, u := range []unit.Unit{unit.NS, unit.US, unit.MS, unit.S} {
			if u.Scale == float64(v) {
				return u, nil
			}
		}
	case Size:
		for _, u := range []unit.Unit{unit.Bytes, unit.KiB, unit.MiB, unit.GiB} {
			if u.Scale == float64(v) {
				return u, nil
			}
		}
	}
	return unit.Unit{}, fmt.Errorf("%s is not a unit; want for example us or MiB", v.String())
}

// Units are the constants that scripts multiply with: 10 * ms.
func Units() starlark.StringDict {
	return starlark.StringDict{
		"ns": Duration(1), "us": Duration(1e3), "ms": Duration(1e6), "s": Duration(1e9),
		"KiB": Size(1 << 10), "MiB": Size(1 << 20), "GiB": Size(1 << 30),
	}
}
