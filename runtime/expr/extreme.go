package expr

// NewExtreme is the least, or the greatest, of at least two signed integers.
func NewExtreme(low bool, args ...Node) (Node, error) {
	name := "max"
	if low {
		name = "min"
	}
	return NewNative(Native{Name: name, Traits: HasProgram, T: TInt, Args: args, Data: extreme{low},
		Int: func(_ *Frame, a []Arg) int64 {
			best := a[0].I
			for _, x := range a[1:] {
				if low && x.I < best || !low && x.I > best {
					best = x.I
				}
			}
			return best
		}})
}

// An extreme says which one is wanted.
type extreme struct{ low bool }

// Extreme reports that n is the least, or the greatest, of its arguments.
func (n *Native) Extreme() (low, ok bool) {
	x, ok := n.Data.(extreme)
	return x.low, ok
}
