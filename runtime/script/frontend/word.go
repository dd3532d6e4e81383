package frontend

import (
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// This file makes values of what lies in a state.

// fromWord makes a value of 64 bits of the state.
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
