package fold

import "ppscript/runtime/expr"

// Emitted tells which values a fold emits, at once or out of its state, by
// following them through its functions.
type Emitted struct {
	emitted map[string][]expr.Node // by name of what is emitted
	stored  map[int][]expr.Node    // by slot of the state
}

// NewEmitted makes one that has seen no function.
func NewEmitted() *Emitted {
	return &Emitted{emitted: map[string][]expr.Node{}, stored: map[int][]expr.Node{}}
}

// See looks at one function.
func (c *Emitted) See(n expr.Node) {
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Emit:
			for i, name := range n.Names {
				c.emitted[name] = append(c.emitted[name], n.Args[i])
			}
		case *expr.StoreState:
			if n.X.Type().Numeric() {
				c.stored[n.Slot] = append(c.stored[n.Slot], n.X)
			}
		}
		return true
	})
}

// Sources are the nodes that the values which are emitted under a name come from.
// A constant says nothing of what it is a value of: it is one of the others'.
func (c *Emitted) Sources(name string) []expr.Node {
	var found []expr.Node
	for _, n := range c.emitted[name] {
		from := []expr.Node{n}
		if l, ok := n.(*expr.LoadState); ok && l.Type().Numeric() {
			from = c.stored[l.Slot]
		}
		for _, n := range from {
			if _, ok := n.(*expr.Const); !ok {
				found = append(found, n)
			}
		}
	}
	return found
}
