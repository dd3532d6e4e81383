package frontend

import (
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// This file converts numbers of a state to Starlark values.

// fromWord converts 64 bits of the state to a value of a kind.
func fromWord(k Kind, n int64) starlark.Value {
	switch k {
	case kindBool:
		return starlark.Bool(n != 0)
	case kindUint:
		return value.BigUint(uint64(n))
	case kindNanos:
		return value.Duration(n)
	case kindMoment:
		return value.Time(n)
	case kindSize:
		return value.Size(n)
	}
	return starlark.MakeInt64(n)
}
