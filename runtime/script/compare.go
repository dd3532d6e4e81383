package script

import (
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file compares values by the rules of per-event functions: a plain number compared with a
// duration or a size is in its base unit, as in C expressions, where fields are plain numbers.
// Elsewhere in scripts such a comparison is an error, since an option of 10 may have been meant as
// 10 ms.

// Compare computes x op y in a per-event function.
func Compare(op syntax.Token, x, y starlark.Value) (bool, error) {
	if isPlain(y) {
		x = plainOf(x)
	} else if isPlain(x) {
		y = plainOf(y)
	}
	return starlark.Compare(op, x, y)
}

func isPlain(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return true
	}
	return false
}

// plainOf returns a duration or size as a number in its base unit, and other values
// unchanged.
func plainOf(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case value.Duration:
		return starlark.MakeInt64(int64(v))
	case value.Size:
		return starlark.MakeInt64(int64(v))
	}
	return v
}

var comparisons = func() map[syntax.Token]*starlark.Builtin {
	m := map[syntax.Token]*starlark.Builtin{}
	for _, op := range []syntax.Token{syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE} {
		m[op] = starlark.NewBuiltin(opName(op),
			func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
				_ []starlark.Tuple) (starlark.Value, error) {
				ok, err := Compare(op, args[0], args[1])
				return starlark.Bool(ok), err
			})
	}
	return m
}()
