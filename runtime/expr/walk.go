package expr

// Children lists the direct operands of a node, in order of evaluation.
func Children(n Node) []Node {
	switch n := n.(type) {
	case *Mem:
		return []Node{n.Addr}
	case *CStr:
		return []Node{n.Addr}
	case *KernelInt:
		return []Node{n.Addr}
	case *KernelText:
		return []Node{n.Addr}
	case *ProcessArea:
		return []Node{n.From, n.To}
	case *KernelPath:
		return []Node{n.Dentry, n.Mount, n.Super}
	case *CPUDistance:
		return []Node{n.CPU}
	case *MemBytes:
		return []Node{n.Addr, n.Len}
	case *StrAt:
		return []Node{n.X, n.I}
	case *Slice:
		return []Node{n.X}
	case *TextOp:
		return append([]Node{n.X}, n.Args...)
	case *Unary:
		return []Node{n.X}
	case *Binary:
		return []Node{n.X, n.Y}
	case *Ext:
		return []Node{n.X}
	case *Cond:
		return []Node{n.Test, n.Then, n.Else}
	case *Set:
		return []Node{n.X}
	case *Seq:
		return n.List
	case *If:
		if n.Else == nil {
			return []Node{n.Test, n.Then}
		}
		return []Node{n.Test, n.Then, n.Else}
	case *Return:
		if n.X == nil {
			return nil
		}
		return []Node{n.X}
	case *Func:
		return []Node{n.Body}
	case *StoreState:
		return []Node{n.X}
	case *LoadElem:
		return []Node{n.I}
	case *StoreElem:
		return []Node{n.X, n.I}
	case *Emit:
		return n.Args
	case *Native:
		return n.Args
	case *Quantity:
		return []Node{n.X}
	case *TupleOf:
		return n.Elems
	}
	return nil
}

// Walk calls visit for n and everything below it, parents first; visit
// returns false to skip what is below.
func Walk(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, c := range Children(n) {
		Walk(c, visit)
	}
}

// Pure reports that evaluating n has no effect besides its value, so that it
// may be left out, repeated or moved.
func Pure(n Node) bool {
	pure := true
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Set, *StoreState, *StoreElem, *Emit, *Return, *If:
			pure = false
		case *Native:
			pure = pure && !n.Effect
		}
		return pure
	})
	return pure
}

// Locals is the number of local variables that n needs.
func Locals(n Node) int {
	count := 0
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Local:
			count = max(count, n.Index+1)
		case *Set:
			count = max(count, n.Index+1)
		}
		return true
	})
	return count
}
