package expr

import "math/bits"

// NewSwapped reads the low 2 or 4 bytes of x in the other byte order; t is
// TInt or TUint.
func NewSwapped(x Node, size int, t Type) (Node, error) {
	return NewNative(Native{Name: "bswap", T: t, Args: []Node{x}, Kernel: Swap{size},
		Int1: func(_ *Frame, x int64) int64 { return swapBytes(x, size) }})
}

// swapBytes returns the low 2 or 4 bytes of x in the other byte order.
func swapBytes(x int64, size int) int64 {
	if size == 2 {
		return int64(bits.ReverseBytes16(uint16(x)))
	}
	return int64(bits.ReverseBytes32(uint32(x)))
}
