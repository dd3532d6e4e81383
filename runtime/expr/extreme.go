package expr

// NewExtreme is the smallest or the greatest of at least two signed integers.
func NewExtreme(low bool, args ...Node) (Node, error) {
	name := "max"
	if low {
		name = "min"
	}
	return NewNative(Native{Name: name, T: TInt, Args: args, Kernel: Extreme{low},
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
