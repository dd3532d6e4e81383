package native

import (
	"bytes"
	"math"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// texts are the functions from texts to numbers.
var texts = []*Function{
	{
		Name: "strncmp", C: []string{"strncmp(a, b, n)"},
		Summary: "Compares the first bytes of two texts.",
		Params: []Param{
			{Name: "a", Kind: Text, Doc: "a text"},
			{Name: "b", Kind: Text, Doc: "a text"},
			{Name: "n", C: c.TULong, Unit: "bytes", Doc: "how many bytes count"},
		},
		CType:  c.TInt,
		Result: "-1, 0 or 1: a comes before b, is equal, comes after it",
		Errors: "none", Source: computed, Cost: nativeCost,
		Examples: []Example{{`strncmp("kworker/0:1", "kworker", 7)`, "0"}},
		HostOnly: orderHere,
		Node: func(k *Call) (expr.Node, error) {
			if k.C {
				return compared(k)
			}
			return k.native(expr.Native{Name: "strncmp", T: expr.TInt,
				Int: func(_ *expr.Frame, a []expr.Arg) int64 {
					return compareBytes(a[0].S, a[1].S, uint64(max(a[2].I, 0)))
				}})
		},
	},
	{
		C:        []string{"strcmp(a, b)"},
		Params:   []Param{{Name: "a", Kind: Text}, {Name: "b", Kind: Text}},
		CType:    c.TInt,
		HostOnly: orderHere,
		Node: func(k *Call) (expr.Node, error) {
			k.Args = append(k.Args, expr.NewUint(math.MaxUint64))
			return compared(k)
		},
	},
	{
		C:      []string{"strlen(s)"},
		Params: []Param{{Name: "s", Kind: Text}},
		CType:  c.TULong,
		Node:   func(k *Call) (expr.Node, error) { return expr.NewUnary(expr.OpStrLen, k.Args[0]) },
	},
}

// compared is strncmp of C: a text ends at its NUL.
func compared(k *Call) (expr.Node, error) {
	return k.native(expr.Native{Name: "strncmp", T: expr.TInt,
		Int: func(_ *expr.Frame, a []expr.Arg) int64 {
			return compareBytes(expr.Trim(a[0].S), expr.Trim(a[1].S), uint64(a[2].I))
		}})
}

// compareBytes compares the first n bytes of two texts: -1, 0 or 1.
func compareBytes(x, y []byte, n uint64) int64 {
	return int64(bytes.Compare(x[:min(uint64(len(x)), n)], y[:min(uint64(len(y)), n)]))
}

// orderHere is the HostOnly reason of functions that order texts.
const orderHere = "programs of the kernel tell only whether texts are equal"
