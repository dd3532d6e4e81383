package host

import (
	"strconv"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func ntoh(name, width string, size int, example string) *b.Builtin {
	n, _ := strconv.ParseInt(example, 0, 64)
	return &b.Builtin{
		Name:    name,
		Group:   b.Hosted,
		Summary: "Reads a " + width + "-bit number in network byte order.",
		Params: []b.Param{
			{Name: "x", Type: b.Int, Required: true, Doc: "the number as the record has it; its low " + width + " bits count"},
		},
		Returns: "int",
		Result:  "the number with its bytes in the other order",
		Errors:  "none",
		Source:  source,
		Cost:    nativeCost,
		Examples: []b.Example{
			{Code: name + "(" + example + ")", Output: strconv.FormatInt(expr.SwapBytes(n, size), 10)},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.MakeInt64(expr.SwapBytes(c.Int("x"), size)), nil
		},
		Native: &frontend.Native{
			Returns: frontend.IntKind,
			Compile: func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
				if c.Len() != 1 || !c.Plain(0) {
					return frontend.NativeValue{}, false
				}
				return c.Of(expr.NewSwapped(c.Node(0), size, expr.TInt))
			},
		},
	}
}
