package native

import (
	"math/bits"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

const (
	computed   = "computed in ppscript; any kernel; no privilege"
	nativeCost = "2 to 10 ns in a native function, 50 ns in an interpreted one"
)

// numbers are the functions from numbers to numbers.
var numbers = []*Function{
	swapped("ntohs", "htons", "16", 2, Example{"ntohs(0x5000)", "80"}),
	swapped("ntohl", "htonl", "32", 4, Example{"ntohl(0x0100007f)", "2130706433"}),
	{
		Name: "log2", C: []string{"log2(x)"},
		Summary: "The power of two that a number reaches.",
		Params: []Param{{Name: "x", Kind: Amount,
			Doc: "a number; of a duration its ns, of a size its bytes"}},
		Result: "the largest n with 2**n <= x; -1 if x is below 1",
		Errors: "none", Source: computed, Cost: nativeCost,
		Examples: []Example{{"log2(5000)", "12"}, {"log2(0)", "-1"}},
		Node:     powerOf,
	},
}

// PowerOf is the largest n with 2**n <= x; -1 if there is none.
func PowerOf(x int64) int64 {
	if x < 1 {
		return -1
	}
	return int64(bits.Len64(uint64(x))) - 1
}

// powerOf makes log2. The argument is signed in scripts, and has its C type in
// C.
func powerOf(k *Call) (expr.Node, error) {
	code := expr.PowerOf{Unsigned: k.Args[0].Type().Unsigned}
	return expr.NewNative(expr.Native{Name: "log2", T: expr.TInt, Args: k.Args, Kernel: code,
		Int1: func(_ *expr.Frame, x int64) int64 {
			if code.Unsigned {
				return int64(bits.Len64(uint64(x))) - 1
			}
			return PowerOf(x)
		}})
}

// swapped makes a function that reads the low bytes of a number in network byte order. All
// supported machines are little-endian.
func swapped(name, back, width string, size int, example Example) *Function {
	return &Function{
		Name: name, C: []string{name + "(x)", back + "(x)"},
		Summary: "Reads a " + width + "-bit number in network byte order.",
		Params: []Param{{Name: "x", C: c.Basic(size, true),
			Doc: "the number as the record has it; its low " + width + " bits count"}},
		CType:  c.Basic(size, true),
		Result: "the number with its bytes in the other order",
		Errors: "none", Source: computed, Cost: nativeCost,
		Examples: []Example{example},
		Node: func(k *Call) (expr.Node, error) {
			t := expr.TInt
			if k.C {
				t = expr.TUint
			}
			n, err := expr.NewSwapped(k.Args[0], size, t)
			if err != nil || !k.C {
				return n, err
			}
			return expr.Fold(n), nil
		},
	}
}
