package host

import (
	"bytes"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func strncmp() *b.Builtin {
	return &b.Builtin{
		Name:    "strncmp",
		Group:   b.Hosted,
		Summary: "Compares the first bytes of two texts.",
		Params: []b.Param{
			{Name: "a", Type: b.String, Required: true, Doc: "a text"},
			{Name: "b", Type: b.String, Required: true, Doc: "a text"},
			{Name: "n", Type: b.Int, Required: true, Unit: "bytes", Doc: "how many bytes count"},
		},
		Returns:  "int",
		Result:   "-1, 0 or 1: a comes before b, is equal, comes behind",
		Errors:   "none",
		Source:   source,
		Cost:     nativeCost,
		Examples: []b.Example{{Code: `strncmp("kworker/0:1", "kworker", 7)`, Output: "0"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.MakeInt64(compareBytes(c.String("a"), c.String("b"), c.Int("n"))), nil
		},
		Native: &frontend.Native{
			Returns: frontend.IntKind,
			Compile: func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
				if c.Len() != 3 || !c.Text(0) || !c.Text(1) || !c.Plain(2) {
					return frontend.NativeValue{}, false
				}
				args := []expr.Node{c.Node(0), c.Node(1), c.Node(2)}
				return c.Make(expr.Native{Name: "strncmp", T: expr.TInt, Args: args,
					Int: func(_ *expr.Frame, a []expr.Arg) int64 {
						return compareBytes(a[0].S, a[1].S, a[2].I)
					}})
			},
		},
	}
}

// compareBytes compares the first n bytes of two texts: -1, 0 or 1.
func compareBytes[T string | []byte](a, b T, n int64) int64 {
	n = max(n, 0)
	return int64(bytes.Compare([]byte(a[:min(int64(len(a)), n)]), []byte(b[:min(int64(len(b)), n)])))
}
