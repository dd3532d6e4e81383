package frontend

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

func makeStruct(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	return starlarkstruct.FromKeywords(starlarkstruct.Default, kwargs), nil
}
