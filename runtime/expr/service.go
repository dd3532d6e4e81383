package expr

import "math/bits"

// This file makes the nodes of functions that both languages have.

// NewKsymbol is the kernel symbol at an address, as find tells it.
func NewKsymbol(addr Node, find func(uint64) string) (Node, error) {
	return NewNative(Native{Name: "ksymbol", T: TStr, Args: []Node{addr},
		Str1: func(_ *Frame, x int64) []byte { return view(find(uint64(x))) }})
}

// NewCommOf is the name of a thread at the time of the event, as find tells it.
func NewCommOf(tid Node, find func(int32) string) (Node, error) {
	return NewNative(Native{Name: "comm_get", Traits: ReadsNow, T: TStr, Args: []Node{tid},
		Str1: func(_ *Frame, x int64) []byte { return view(find(int32(x))) }})
}

// NewSyscallName is the name of a system call, as find tells it.
func NewSyscallName(number Node, find func(int64) string) (Node, error) {
	return NewNative(Native{Name: "syscall_name", T: TStr, Args: []Node{number},
		Str1: func(_ *Frame, x int64) []byte { return view(find(x)) }})
}

// NewExitReason is the name of a KVM exit, as find tells it.
func NewExitReason(isa, code Node, find func(isa, code int64) string) (Node, error) {
	return NewNative(Native{Name: "exit_reason_str", T: TStr, Args: []Node{isa, code},
		Str: func(_ *Frame, a []Arg) []byte { return view(find(a[0].I, a[1].I)) }})
}

// NewSwapped reads the low 2 or 4 bytes of x in the other byte order; t is
// TInt or TUint.
func NewSwapped(x Node, size int, t Type) (Node, error) {
	return NewNative(Native{Name: "bswap", Traits: HasProgram, T: t, Args: []Node{x}, Data: size,
		Int1: func(_ *Frame, x int64) int64 { return SwapBytes(x, size) }})
}

// SwapBytes is the low 2 or 4 bytes of x in the other byte order.
func SwapBytes(x int64, size int) int64 {
	if size == 2 {
		return int64(bits.ReverseBytes16(uint16(x)))
	}
	return int64(bits.ReverseBytes32(uint32(x)))
}

// SwappedSize is the number of bytes that a node of NewSwapped swaps; 0 for
// others.
func (n *Native) SwappedSize() int {
	size, _ := n.Data.(int)
	if n.Name != "bswap" {
		return 0
	}
	return size
}
