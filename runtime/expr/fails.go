package expr

// Fails says how the operation of a node itself can fail, apart from its operands; "" if it
// cannot.
func Fails(n Node) string {
	switch n := n.(type) {
	case *Binary:
		switch {
		case n.Op == OpFloorDiv, n.Op == OpFloorMod, n.Op == OpFDiv,
			n.Op == OpDivS, n.Op == OpDivU, n.Op == OpModS, n.Op == OpModU:
			if k, ok := n.Y.(*Const); ok && k.T.Kind == Int && k.Int > 0 {
				return ""
			}
			return "a division by zero"
		case n.Op >= OpAddC && n.Op <= OpShrC:
			return "a number beyond 64 bits"
		}
	case *Native:
		if _, dict := n.Kernel.(*Dict); dict {
			return "a key that is not there"
		}
	case *TextOp:
		if n.MayFail() {
			return "no such part"
		}
	case *KernelInt, *KernelText, *ProcessArea, *KernelPath:
		return "memory that cannot be read"
	case *Field:
		if ReadOf(n.F) != nil {
			return "memory that cannot be read"
		}
	}
	return ""
}

// MayFail reports that evaluating n can fail.
func MayFail(n Node) bool {
	found := false
	Walk(n, func(n Node) bool {
		found = found || Fails(n) != ""
		return !found
	})
	return found
}
