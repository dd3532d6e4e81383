package host

import (
	"math/bits"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func log2() *b.Builtin {
	return &b.Builtin{
		Name:    "log2",
		Group:   b.Hosted,
		Summary: "The power of two that a number reaches.",
		Params: []b.Param{
			{Name: "x", Type: b.Or(b.Int, b.Is("duration"), b.Is("size")), Required: true, Doc: "a number; of a duration its ns, of a size its bytes"},
		},
		Returns:  "int",
		Result:   "the largest n with 2**n <= x; -1 if x is below 1",
		Errors:   "none",
		Source:   source,
		Cost:     nativeCost,
		Examples: []b.Example{{Code: "log2(5000)", Output: "12"}, {Code: "log2(0)", Output: "-1"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n, _ := number(c.Value("x"))
			return starlark.MakeInt64(powerOf(n)), nil
		},
		Native: &frontend.Native{
			Returns: frontend.IntKind,
			Compile: func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
				if c.Len() != 1 || !c.Signed(0) {
					return frontend.NativeValue{}, false
				}
				return c.Make(expr.Native{Name: "log2", T: expr.TInt, Args: []expr.Node{c.Node(0)},
					Int1: func(_ *expr.Frame, x int64) int64 { return powerOf(x) }})
			},
		},
	}
}

// powerOf is the largest n with 2**n <= x; -1 if there is none.
func powerOf(x int64) int64 {
	if x < 1 {
		return -1
	}
	return int64(bits.Len64(uint64(x))) - 1
}
