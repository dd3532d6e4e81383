package cexpr

import (
	"encoding/hex"

	"ppscript/runtime/expr"
)

// lowerMask prints a bitmask, or a mask of CPUs, as the kernel's %*pb does:
// groups of 32 bits in hex, the most significant first.
func lowerMask(k *Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	b, err := expr.NewFieldView(f, expr.Self, expr.ViewBytes)
	if err != nil {
		return nil, k.Errorf(0, "%v", err)
	}
	return expr.NewNative(expr.Native{Name: "bitmask", T: expr.TStr, Args: []expr.Node{b},
		HostOnly: expr.TextsHere,
		Str: func(f *expr.Frame, a []expr.Arg) []byte {
			out, mask := f.Scratch(), a[0].S
			for n := len(mask) / 4 * 4; n >= 4; n -= 4 {
				w := mask[n-4 : n]
				out = hex.AppendEncode(out, []byte{w[3], w[2], w[1], w[0]})
				if n > 4 {
					out = append(out, ',')
				}
			}
			return f.Keep(out)
		}})
}
